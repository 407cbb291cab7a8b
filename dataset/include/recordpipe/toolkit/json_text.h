// Writes the values of records as JSON, fast and in bounded memory.
//
// json_examples.h reads the same bytes back:
//   floats    the shortest decimal that reads back as the same float, always with a point or an
//             exponent (1.0, not 1); NaN, Infinity and -Infinity as Python's json module writes and
//             reads them
//   int64s    whole numbers
//   bytes     a string where they are text, {"base64": "..."} where they aren't. Text is valid
//             UTF-8 without control characters other than tab, newline and carriage return.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "recordpipe/example_view.h"
#include "recordpipe/message_view.h"

namespace recordpipe {

// As above. Control characters are those of Unicode: U+0000 to U+001F and U+007F to U+009F.
bool is_text(std::span<const std::byte> bytes);

// What tells the kind of a list that is empty, in "kinds": "bytes", "float" or "int64".
std::string_view json_kind(FeatureKind kind);
// The same of lists of many records: "mixed" where they are of several kinds.
inline std::string_view json_kind(std::optional<FeatureKind> kind) {
  return kind ? json_kind(*kind) : "mixed";
}

// A piece of JSON that grows at its end. Calls put no commas or spaces around what they append,
// unless they say so.
class JsonText {
 public:
  // Keeps all of it.
  JsonText() = default;
  // Hands what there is to `spill`, and forgets it, whenever it is 64 KiB or more: for values that
  // may be large. What is left at the end stays in text().
  explicit JsonText(std::function<void(std::string_view)> spill) : spill_(std::move(spill)) {}

  const std::string& text() const { return text_; }
  // Gives it away.
  std::string take() { return std::exchange(text_, {}); }

  // Appends it as it is.
  void raw(std::string_view json);
  // A string; what is not valid UTF-8 becomes U+FFFD.
  void string(std::string_view text);
  void number(uint64_t value);
  void number(int64_t value);
  void number(float value);
  void number(double value);
  // {"base64": "..."}
  void base64(std::span<const std::byte> bytes);
  // One value of a feature.
  void bytes(std::span<const std::byte> value);
  // A feature's values: [1, 2]. One of kind none is [].
  void values(const FeatureView& feature);
  // {"name": [values], ...}, in the order of `features`.
  void features(std::span<const NamedFeature> features);
  // {"name": [[values of a step], ...], ...}; a step without a list is null.
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

// {"name": value, ...}: each key() is followed by its value. The object ends when this is
// destroyed.
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
