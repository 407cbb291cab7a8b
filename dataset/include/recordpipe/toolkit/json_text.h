// Writes the values of records as JSON, fast and in bounded memory.
//
// json_examples.h parses this format:
//   floats    the shortest decimal that parses to the same float, always with a point or an
//             exponent (1.0, not 1); NaN, Infinity and -Infinity as Python's json module writes and
//             reads them
//   int64s    integers
//   bytes     a string if the bytes are text, otherwise {"base64": "..."}. Text is valid UTF-8
//             without control characters other than tab, newline and carriage return.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "recordpipe/example/example_view.h"
#include "recordpipe/example/message_view.h"

namespace recordpipe {

// Whether `bytes` are text as defined above. Control characters are those of Unicode: U+0000 to
// U+001F and U+007F to U+009F.
bool is_text(std::span<const std::byte> bytes);

// Returns the name of a kind in "kinds", which gives the kind of empty lists: "bytes", "float" or
// "int64".
std::string_view json_kind(FeatureKind kind);
// The same for the lists of many records; "mixed" if the lists are of different kinds.
inline std::string_view json_kind(std::optional<FeatureKind> kind) {
  return kind ? json_kind(*kind) : "mixed";
}

// An append-only JSON buffer. Unless stated otherwise, calls append no commas or spaces around
// their value.
class JsonText {
 public:
  // Keeps all text in memory.
  JsonText() = default;
  // Passes the text to `spill` and clears the buffer whenever its size reaches 64 KiB, to bound the
  // memory for large values. The rest stays in text().
  explicit JsonText(std::function<void(std::string_view)> spill) : spill_(std::move(spill)) {}

  const std::string& text() const { return text_; }
  // Moves the text out and clears the buffer.
  std::string take() { return std::exchange(text_, {}); }

  // Appends raw JSON unchanged.
  void raw(std::string_view json);
  // Appends a JSON string; replaces invalid UTF-8 by U+FFFD.
  void string(std::string_view text);
  void number(uint64_t value);
  void number(int64_t value);
  void number(float value);
  void number(double value);
  // [a, b]: `append(value)` appends each.
  template <class Values, class Append>
  void list(const Values& values, const Append& append) {
    raw("[");
    bool is_first = true;
    for (const auto& value : values) {
      if (!is_first) raw(", ");
      is_first = false;
      append(value);
    }
    raw("]");
  }
  // {"base64": "..."}
  void base64(std::span<const std::byte> bytes);
  // One bytes value of a feature, as described above.
  void bytes(std::span<const std::byte> value);
  // A feature's values: [1, 2]. A feature of kind none is [].
  void values(const FeatureView& feature);
  // {"name": [values], ...}, in the order of `features`.
  void features(std::span<const NamedFeature> features);
  // {"name": [[values of a step], ...], ...}; null for a step without a list.
  void feature_lists(std::span<const FeatureListView> lists);

 private:
  static constexpr size_t kSpillSize = size_t{64} << 10;

  void spill_if_large() {
    if (text_.size() >= kSpillSize && spill_) spill();
  }
  void spill();

  std::string text_;
  std::function<void(std::string_view)> spill_;
};

// Writes {"name": value, ...}. Append a value after each key(). The destructor closes the object.
class JsonObject {
 public:
  explicit JsonObject(JsonText& json) : json_(json) { json_.raw("{"); }
  ~JsonObject() { json_.raw("}"); }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  JsonText& key(std::string_view name) {
    if (!first_) json_.raw(", ");
    first_ = false;
    json_.string(name);
    json_.raw(": ");
    return json_;
  }
  void flag(std::string_view name, bool value) { key(name).raw(value ? "true" : "false"); }

 private:
  JsonText& json_;
  bool first_ = true;
};

}  // namespace recordpipe
