#include "dataset/toolkit/selection/where_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "dataset/toolkit/number_text.h"
#include "recordpipe/error.h"

namespace recordpipe {
namespace {

using Condition = Where::Condition;
using Operator = Where::Condition::Operator;

constexpr int kMaxDepth = 100;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
// (UTF-8 bytes that aren't ASCII count as letters.)
bool begins_name(char c) { return is_letter(c) || static_cast<unsigned char>(c) >= 0x80; }
bool continues_name(char c) {
  return begins_name(c) || is_digit(c) || c == '/' || c == '.' || c == ':' || c == '-';
}

// Parses the text by recursive descent, with a function for each rule:
//   any        = all {"or" all}
//   all        = part {"and" part}
//   part       = "not" part | "(" any ")" | has | comparison
//   has        = "has" "(" name ")"
//   comparison = (name | "len" "(" name ")") (operator literal | ["not"] "in" list)
//   list       = "[" literals "]" | "(" literals ")"
class Parser {
 public:
  Parser(std::string_view text, std::string_view called) : text_(text), called_(called) {}

  Condition parse() {
    Condition whole = any();
    if (!at_end()) fail("expected and, or, or the end");
    return whole;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const { fail_at(at_, what); }
  [[noreturn]] void fail_at(size_t at, std::string_view what) const {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = std::string(called_) + ", column " + std::to_string(at + 1) + ": " +
                           std::string(what)});
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  bool at_end() {
    skip_spaces();
    return at_ == text_.size();
  }
  char next() { return at_end() ? '\0' : text_[at_]; }
  bool take(std::string_view symbol) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!take(symbol)) fail("expected " + std::string(symbol));
  }
  bool take_word(std::string_view word) {
    skip_spaces();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(word)) return false;
    if (rest.size() > word.size() && continues_name(rest[word.size()])) return false;
    at_ += word.size();
    return true;
  }
  // Takes "len(" or "has(". Without the parenthesis, the word is the name of a feature.
  bool take_function(std::string_view name) {
    const size_t begin = at_;
    if (take_word(name) && take("(")) return true;
    at_ = begin;
    return false;
  }

  Condition any() { return chain("or", Condition::Kind::any_of, &Parser::all); }
  Condition all() { return chain("and", Condition::Kind::all_of, &Parser::part); }
  Condition chain(std::string_view word, Condition::Kind kind, Condition (Parser::*rule)()) {
    Condition first = (this->*rule)();
    if (!take_word(word)) return first;
    Condition whole = {.kind = kind};
    whole.parts.push_back(std::move(first));
    do {
      whole.parts.push_back((this->*rule)());
    } while (take_word(word));
    return whole;
  }

  Condition part() {
    if (depth_ == kMaxDepth) fail("parentheses and nots nested more than 100 deep");
    ++depth_;
    Condition result = nested_part();
    --depth_;
    return result;
  }
  Condition nested_part() {
    if (take_word("not")) return negated(part());
    if (take("(")) {
      Condition inner = any();
      expect(")");
      return inner;
    }
    if (take_function("has")) {
      Condition condition = {.kind = Condition::Kind::has, .name = name()};
      expect(")");
      return condition;
    }
    return comparison();
  }
  static Condition negated(Condition condition) {
    Condition negation = {.kind = Condition::Kind::negation};
    negation.parts.push_back(std::move(condition));
    return negation;
  }

  Condition comparison() {
    Condition condition = {.kind = Condition::Kind::comparison};
    if (take_function("len")) {
      condition.kind = Condition::Kind::length;
      condition.name = name();
      expect(")");
    } else {
      condition.name = name();
    }
    const size_t begin = at_;
    if (take_word("not")) {
      if (!take_word("in")) fail("expected in after not");
      condition.literals = list(condition.kind);
      return negated(std::move(condition));
    }
    if (take_word("in")) {
      condition.literals = list(condition.kind);
      return condition;
    }
    const std::optional<Operator> how = comparison_operator();
    if (!how) {
      at_ = begin;
      skip_spaces();
      fail(next() == '=' ? "'=' is not an operator; use '=='" : "expected == != < <= > >= or in");
    }
    condition.how = *how;
    condition.literals.push_back(literal(condition.kind));
    return condition;
  }
  std::optional<Operator> comparison_operator() {
    static constexpr std::array<std::pair<std::string_view, Operator>, 6> kOperators = {
        {{"==", Operator::equal},
         {"!=", Operator::not_equal},
         {"<=", Operator::less_or_equal},
         {">=", Operator::greater_or_equal},
         {"<", Operator::less},
         {">", Operator::greater}}};
    for (const auto& [symbol, how] : kOperators) {
      if (take(symbol)) return how;
    }
    return std::nullopt;
  }

  std::string name() {
    const char first = next();
    if (first == '`' || first == '"') return quoted();
    if (!begins_name(first)) fail("expected the name of a feature (in backticks if need be)");
    const size_t begin = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::vector<WhereLiteral> list(Condition::Kind compared) {
    const bool round = next() == '(';
    expect(round ? "(" : "[");
    std::vector<WhereLiteral> literals;
    do {
      literals.push_back(literal(compared));
    } while (take(","));
    expect(round ? ")" : "]");
    return literals;
  }

  WhereLiteral literal(Condition::Kind compared) {
    const char first = next();
    if (first == '\'' || first == '"') {
      if (compared == Condition::Kind::length) fail("len() is a number, never a string");
      return quoted();
    }
    const size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) ||
                                  text_[at_] == '.' || text_[at_] == '+' || text_[at_] == '-')) {
      ++at_;
    }
    const std::string_view number = text_.substr(begin, at_ - begin);
    if (parse_nonfinite(number)) {
      fail_at(begin, std::string(number) +
                         " can't be compared with (x < 0 or x >= 0 selects all but NaN, "
                         "x > 1e39 infinities)");
    }
    if (number.empty() || is_letter(number.front())) {
      fail_at(begin, "expected a number, or a string in quotes");
    }
    return parse_number(begin, number);
  }
  WhereLiteral parse_number(size_t at, std::string_view text) const {
    if (text.starts_with('+')) text.remove_prefix(1);
    const char* const end = text.data() + text.size();
    int64_t whole = 0;
    const auto read = std::from_chars(text.data(), end, whole);
    if (read.ec == std::errc::result_out_of_range && read.ptr == end) {
      fail_at(at, "a number that doesn't fit in 64 bits");
    }
    if (read.ec == std::errc() && read.ptr == end) return whole;
    double decimal = 0;
    const auto read_decimal = std::from_chars(text.data(), end, decimal);
    if (read_decimal.ec != std::errc() || read_decimal.ptr != end) fail_at(at, "not a number");
    return decimal;
  }

  std::string quoted() {
    const size_t begin = at_;
    const char quote = text_[at_++];
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote) {
      out += text_[at_] == '\\' && quote != '`' ? escaped() : text_[at_++];
    }
    if (at_ == text_.size()) fail_at(begin, "a quote that isn't closed");
    ++at_;
    return out;
  }
  char escaped() {
    const size_t begin = at_++;
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    if (c == 'n') return '\n';
    if (c == 't') return '\t';
    if (c == '\\' || c == '\'' || c == '"') return c;
    unsigned code = 0;
    if (c == 'x' && text_.size() - at_ >= 2) {
      const char* const from = text_.data() + at_;
      if (std::from_chars(from, from + 2, code, 16).ptr == from + 2) {
        at_ += 2;
        return static_cast<char>(code);
      }
    }
    fail_at(begin, R"(expected \\ \' \" \n \t or \xNN)");
  }

  const std::string_view text_;
  const std::string_view called_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Where::Condition parse_where(std::string_view expression, std::string_view called) {
  return Parser(expression, called).parse();
}

}  // namespace recordpipe
