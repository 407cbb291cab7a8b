#include "dataset/toolkit/formats/json_value.h"

#include <algorithm>
#include <array>
#include <map>

#include <nlohmann/json.hpp>

#include "dataset/example/nearest_float.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr size_t kDeepest = 8;

[[noreturn]] void fail_json(std::string reason, std::string hint = {}) {
  throw Error({.kind = ErrorKind::corrupted, .reason = std::move(reason), .hint = std::move(hint)});
}

constexpr const char* kOneLine =
    "one object a line: jq -c . makes them of objects on several lines, jq -c '.[]' of a list";

// JSON in which NaN, Infinity and -Infinity are replaced by numbers of the same length.
struct FiniteJson {
  std::string text = {};
  // The replaced words, by the position of the replacement among all numbers of the text.
  std::map<size_t, std::string_view> words = {};
};

// Builds a JsonValue from parser events.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(const std::map<size_t, std::string_view>& words) : words_(words) {}

  JsonValue take() { return std::move(root_); }

  bool null() override { return put({}); }
  bool boolean(bool value) override {
    return put({.kind = JsonValue::Kind::integer, .integer = value ? 1 : 0});
  }
  bool number_integer(number_integer_t value) override {
    // (Numbers without a minus are unsigned.)
    return integer(value, value == 0 ? "-0" : std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<uint64_t>(INT64_MAX)) {
      ++numbers_;
      return put({.kind = JsonValue::Kind::floating, .text = std::to_string(value)});
    }
    return integer(static_cast<int64_t>(value), std::to_string(value));
  }
  bool number_float(number_float_t, const string_t& text) override {
    if (const auto word = words_.find(numbers_++); word != words_.end()) {
      return put({.kind = JsonValue::Kind::floating, .text = std::string(word->second)});
    }
    return put({.kind = JsonValue::Kind::floating, .text = text});
  }
  bool string(string_t& text) override {
    return put({.kind = JsonValue::Kind::string, .text = std::move(text)});
  }
  bool binary(binary_t&) override { return false; }
  bool start_array(size_t) override { return open(JsonValue::Kind::array); }
  bool start_object(size_t) override { return open(JsonValue::Kind::object); }
  bool end_array() override { return close(); }
  bool end_object() override {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : open_.back()->members) names.push_back(name);
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice != names.end()) fail_json("\"" + printable(*twice) + "\" twice");
    return close();
  }
  bool key(string_t& name) override {
    open_.back()->members.emplace_back(std::move(name), JsonValue());
    return true;
  }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const std::string_view what = error.what();
    constexpr int kOverflow = 406;  // a number beyond double
    if (error.id == kOverflow) fail_number(what);
    const size_t colon = what.find(": ");
    const bool has_ended = what.find("unexpected end of input") != what.npos;
    fail_json("invalid JSON at byte " + std::to_string(position) +
                  (colon == what.npos ? "" : printable(what.substr(colon))),
              has_ended ? kOneLine : "");
  }

 private:
  bool integer(int64_t value, std::string text) {
    ++numbers_;
    return put({.kind = JsonValue::Kind::integer, .integer = value, .text = std::move(text)});
  }
  [[noreturn]] void fail_number(std::string_view what) const {
    what.remove_prefix(std::min(what.find('\''), what.size()));
    while (what.starts_with('\'')) what.remove_prefix(1);
    const auto object =
        std::ranges::find(open_.rbegin(), open_.rend(), JsonValue::Kind::object, &JsonValue::kind);
    const std::string name =
        object == open_.rend() ? "" : "\"" + printable((*object)->members.back().first) + "\": ";
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = name + out_of_float_range(what.substr(0, what.find('\'')))});
  }
  JsonValue& place() {
    if (open_.empty()) return root_;
    JsonValue& parent = *open_.back();
    if (parent.kind == JsonValue::Kind::object) return parent.members.back().second;
    return parent.items.emplace_back();
  }
  bool put(JsonValue value) {
    place() = std::move(value);
    return true;
  }
  bool open(JsonValue::Kind kind) {
    if (open_.size() == kDeepest) fail_json("nested too deeply");
    JsonValue& value = place();
    value.kind = kind;
    // The address stays valid while the value is open: no siblings are added until it is closed.
    open_.push_back(&value);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::map<size_t, std::string_view>& words_;
  size_t numbers_ = 0;  // numbers so far
  JsonValue root_;
  std::vector<JsonValue*> open_;
};

// Returns the end of the token at `begin`: a number, a word, a string, a punctuation mark or a
// white-space character.
size_t end_of_token(std::string_view text, size_t begin) {
  constexpr std::string_view kMarks = " \t\r\n{}[]:,\"";
  if (text[begin] == '"') {
    size_t i = begin + 1;
    for (; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\';
    return std::min(i + 1, text.size());
  }
  if (kMarks.find(text[begin]) != kMarks.npos) return begin + 1;
  return std::min(text.find_first_of(kMarks, begin), text.size());
}

// Replaces NaN, Infinity and -Infinity only as complete words: -NaN and Infinity2 stay unchanged
// and so remain invalid JSON.
FiniteJson without_non_finite(std::string_view text) {
  static constexpr std::array<std::string_view, 3> kWords = {"NaN", "Infinity", "-Infinity"};
  FiniteJson json;
  size_t numbers = 0;
  for (size_t i = 0; i < text.size();) {
    const std::string_view token = text.substr(i, end_of_token(text, i) - i);
    i += token.size();
    const auto word = std::ranges::find(kWords, token);
    if (word != kWords.end()) {
      json.words.emplace(numbers++, *word);
      json.text += word->starts_with('-') ? "-0." : "0.";
      json.text.resize(i, '0');
      continue;
    }
    if (std::string_view("-0123456789").find(token.front()) != std::string_view::npos) ++numbers;
    json.text += token;
  }
  return json;
}

bool may_hold_non_finite(std::string_view text) {
  return text.find("NaN") != text.npos || text.find("Infinity") != text.npos;
}

}  // namespace

JsonValue parse_json(std::string_view text) {
  // The parser treats NUL as the end of the text.
  if (const size_t nul = text.find('\0'); nul != text.npos) {
    fail_json("invalid JSON at byte " + std::to_string(nul + 1) + ": a NUL byte");
  }
  const FiniteJson finite = may_hold_non_finite(text) ? without_non_finite(text) : FiniteJson();
  const std::string_view json = finite.words.empty() ? text : std::string_view(finite.text);
  Builder builder(finite.words);
  nlohmann::json::sax_parse(json.begin(), json.end(), &builder);
  return builder.take();
}

std::string decode_base64(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
  };
  if (text.size() % 4 != 0) fail_json("base64 whose length is not a multiple of 4");
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_padding = i + padding >= text.size();
    const int value = is_padding ? 0 : digit(text[i]);
    if (value < 0) fail_json("a character that is not base64");
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (i % 4 != 3) continue;
    for (const int shift : {16, 8, 0}) out += static_cast<char>(bits >> shift);
    bits = 0;
  }
  out.resize(out.size() - padding);
  return out;
}

}  // namespace recordpipe
