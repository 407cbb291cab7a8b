// Represents elements of any shape in one type: a number, or a list of such elements. Random chains
// of operators use only this type, whatever they batch, zip and flatten.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/pipeline/cache_codec.h"
#include "recordpipe/record/record.h"

namespace recordpipe {

struct Value {
  int64_t number = 0;
  std::vector<Value> items = {};
  bool is_list = false;

  friend bool operator==(const Value&, const Value&) = default;
};

inline Value number_value(int64_t number) { return {.number = number}; }
inline Value list_value(std::vector<Value> items) {
  return {.items = std::move(items), .is_list = true};
}

// Appends, for example, "7" or "(1 (2 3))".
inline void append_text(const Value& value, std::string& out) {
  if (!value.is_list) {
    out += std::to_string(value.number);
    return;
  }
  out += '(';
  for (const Value& item : value.items) {
    if (out.back() != '(') out += ' ';
    append_text(item, out);
  }
  out += ')';
}

inline Value parse_value(std::string_view& text) {
  if (text.front() != '(') {
    const size_t length = text.find_first_of(" )");
    const Value value = number_value(std::atoll(std::string(text.substr(0, length)).c_str()));
    text.remove_prefix(std::min(length, text.size()));
    return value;
  }
  Value list = list_value({});
  for (text.remove_prefix(1); text.front() != ')';) {
    if (text.front() == ' ') text.remove_prefix(1);
    list.items.push_back(parse_value(text));
  }
  text.remove_prefix(1);
  return list;
}

inline void PrintTo(const Value& value, std::ostream* out) {
  std::string text;
  append_text(value, text);
  *out << text;
}

// Computes a hash of the whole value.
inline uint32_t digest(const Value& value) {
  auto sum = static_cast<uint32_t>(value.number) * 7 + (value.is_list ? 3 : 0);
  for (const Value& item : value.items) sum = sum * 31 + digest(item);
  return (sum ^ (sum >> 15)) * 0x2C1B3C6D;
}

// Returns a value of the same shape with other numbers.
inline Value shifted(Value value, int64_t by) {
  value.number = value.is_list ? 0 : (value.number * 7 + by) & 0x3FFFFFFF;
  for (Value& item : value.items) item = shifted(std::move(item), by);
  return value;
}

// A collator for batch that makes a list.
struct ValueCollator {
  using Batch = Value;
  void reset(Value& batch, size_t rows) const {
    batch.number = 0;
    batch.is_list = true;
    batch.items.resize(rows);
  }
  void set(Value& batch, size_t row, Value&& value) const { batch.items[row] = std::move(value); }
};

template <>
struct CacheCodec<Value> {
  std::string name() const { return "value"; }
  void encode(const Value& value, std::string& out) const { append_text(value, out); }
  Value decode(const Record& stored) const {
    std::string_view text(reinterpret_cast<const char*>(stored.data.data()), stored.data.size());
    return parse_value(text);
  }
};

}  // namespace recordpipe
