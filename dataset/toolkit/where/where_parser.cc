#include "dataset/toolkit/where/where_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "dataset/toolkit/number_text.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

using Condition = Where::Condition;
using Function = Where::Condition::Function;
using Operator = Where::Condition::Operator;
using Subject = Where::Condition::Subject;

constexpr std::array kFunctions = {Function::startswith, Function::endswith, Function::contains,
                                   Function::matches};

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
//   part       = "not" part | "(" any ")" | has | function | comparison
//   has        = "has" "(" name ")"
//   function   = ("startswith" | "endswith" | "contains" | "matches") "(" (name | "*") ","
//                string ")"
//   comparison = (name | "len" "(" name ")") (operator literal | ["not"] "in" list)
//   list       = "[" literals "]" | "(" literals ")"
class WhereParser {
 public:
  WhereParser(std::string_view text, std::string_view called) : text_(text), called_(called) {}

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

  Condition any() { return chain("or", Condition::Kind::any_of, &WhereParser::all); }
  Condition all() { return chain("and", Condition::Kind::all_of, &WhereParser::part); }
  Condition chain(std::string_view word, Condition::Kind kind, Condition (WhereParser::*rule)()) {
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
      Condition condition = {.kind = Condition::Kind::has};
      read_feature(condition);
      expect(")");
      return condition;
    }
    for (const Function function : kFunctions) {
      if (take_function(to_string(function))) return call(function);
    }
    return comparison();
  }
  static Condition negated(Condition condition) {
    Condition negation = {.kind = Condition::Kind::negation};
    negation.parts.push_back(std::move(condition));
    return negation;
  }

  // The part of a function after its opening parenthesis.
  Condition call(Function function) {
    Condition condition = {.kind = Condition::Kind::function, .function = function};
    skip_spaces();
    const size_t subject = at_;
    if (take("*")) {
      condition.subject = Subject::any_feature;
    } else {
      read_subject(condition);
    }
    if (is_number(condition)) {
      fail_at(subject, condition.name + " is a number, and " + std::string(to_string(function)) +
                           "() is for strings");
    }
    expect(",");
    skip_spaces();
    const size_t begin = at_;
    if (!begins_string()) fail("expected a string in quotes");
    std::string text = string();
    if (function == Function::matches) {
      try {
        condition.regex = std::make_shared<const Regex>(text);
      } catch (const Error& error) {
        fail_at(begin, error.reason());
      }
    }
    condition.literals.emplace_back(std::move(text));
    expect(")");
    return condition;
  }

  Condition comparison() {
    Condition condition = {.kind = Condition::Kind::comparison};
    if (take_function("len")) {
      condition.kind = Condition::Kind::length;
      read_feature(condition);
      expect(")");
    } else {
      read_subject(condition);
    }
    const size_t begin = at_;
    if (take_word("not")) {
      if (!take_word("in")) fail("expected in after not");
      condition.how = Operator::not_equal;
      condition.literals = list(condition);
      return condition;
    }
    if (take_word("in")) {
      condition.literals = list(condition);
      return condition;
    }
    const std::optional<Operator> how = comparison_operator();
    if (!how) {
      at_ = begin;
      skip_spaces();
      fail(next() == '=' ? "'=' is not an operator; use '=='" : "expected == != < <= > >= or in");
    }
    condition.how = *how;
    condition.literals.push_back(literal(condition));
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

  // Reads the name of a feature, or of a fact about the record. Quotes make it a feature's.
  void read_subject(Condition& condition) {
    const char first = next();
    condition.name = name();
    if (first == '`' || first == '"') return;
    if (condition.name == "record.size") condition.subject = Subject::record_size;
    if (condition.name == "record.number") condition.subject = Subject::record_number;
    if (condition.name == "record.path") condition.subject = Subject::record_path;
  }
  void read_feature(Condition& condition) {
    skip_spaces();
    const size_t begin = at_;
    read_subject(condition);
    if (condition.subject == Subject::feature) return;
    fail_at(begin, condition.name + " is no feature (a feature of that name stands in backticks)");
  }
  static bool is_number(const Condition& condition) {
    return condition.kind == Condition::Kind::length || condition.subject == Subject::record_size ||
           condition.subject == Subject::record_number;
  }

  std::string name() {
    const char first = next();
    if (first == '`' || first == '"') return quoted();
    if (!begins_name(first)) fail("expected the name of a feature (in backticks if need be)");
    const size_t begin = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::vector<WhereLiteral> list(const Condition& compared) {
    const bool round = next() == '(';
    expect(round ? "(" : "[");
    std::vector<WhereLiteral> literals;
    do {
      literals.push_back(literal(compared));
    } while (take(","));
    expect(round ? ")" : "]");
    return literals;
  }

  WhereLiteral literal(const Condition& compared) {
    if (begins_string()) {
      if (is_number(compared)) {
        fail((compared.kind == Condition::Kind::length ? "len()" : compared.name) +
             " is a number, never a string");
      }
      return string();
    }
    if (compared.subject == Subject::record_path) fail("record.path is a string: expected quotes");
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
      uint64_t large = 0;
      if (std::from_chars(text.data(), end, large).ec == std::errc()) return large;
      fail_at(at, "a number that doesn't fit in 64 bits");
    }
    if (read.ec == std::errc() && read.ptr == end) return whole;
    double decimal = 0;
    const auto read_decimal = std::from_chars(text.data(), end, decimal);
    if (read_decimal.ec == std::errc::result_out_of_range && read_decimal.ptr == end) {
      fail_at(at, "a number that doesn't fit in a float of 64 bits");
    }
    if (read_decimal.ec != std::errc() || read_decimal.ptr != end) fail_at(at, "not a number");
    return decimal;
  }

  // "text" or r"text", where a backslash is a backslash.
  bool begins_string() {
    const char first = next();
    return is_quote(first) || (first == 'r' && at_ + 1 < text_.size() && is_quote(text_[at_ + 1]));
  }
  static bool is_quote(char c) { return c == '\'' || c == '"'; }
  std::string string() { return take("r") ? quoted(/*raw=*/true) : quoted(); }

  std::string quoted(bool raw = false) {
    const size_t begin = at_;
    const char quote = text_[at_++];
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote) {
      out += text_[at_] == '\\' && quote != '`' && !raw ? escaped() : text_[at_++];
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
    fail_at(begin, R"(expected \\ \' \" \n \t or \xNN (r'...' keeps backslashes))");
  }

  const std::string_view text_;
  const std::string_view called_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string_view to_string(Where::Condition::Function function) {
  switch (function) {
    case Function::startswith:
      return "startswith";
    case Function::endswith:
      return "endswith";
    case Function::contains:
      return "contains";
    case Function::matches:
      return "matches";
  }
  return "";
}

Where::Condition parse_where(std::string_view expression, std::string_view called) {
  return WhereParser(expression, called).parse();
}

}  // namespace recordpipe
