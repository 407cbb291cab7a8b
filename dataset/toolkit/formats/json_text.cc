#include "recordpipe/toolkit/json_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "dataset/base/base64.h"
#include "recordpipe/base/internal/utf8.h"
#include "recordpipe/example/feature_values.h"

namespace recordpipe {
namespace {

std::string_view as_view(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr bool is_plain_ascii(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7f;
}

constexpr uint64_t kOnes = 0x0101010101010101u;
constexpr uint64_t kTops = 0x80 * kOnes;

uint64_t load_eight(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Returns whether eight bytes are all plain ASCII: no byte has its top bit set, is below 0x20, or
// is 0x7f.
bool are_plain_ascii(uint64_t word) {
  return ((word | (word - 0x20 * kOnes) | (word + kOnes)) & kTops) == 0;
}

bool has_byte(uint64_t word, char byte) {
  const uint64_t zero_there = word ^ static_cast<unsigned char>(byte) * kOnes;
  return ((zero_there - kOnes) & ~zero_there & kTops) != 0;
}

// Returns whether the eight bytes at `from` need no escapes in a JSON string.
bool stands_for_itself(const char* from) {
  const uint64_t word = load_eight(from);
  return are_plain_ascii(word) && !has_byte(word, '"') && !has_byte(word, '\\');
}

template <typename Number>
void append_number(std::string& out, Number value) {
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

template <typename Float>
void append_float(std::string& out, Float value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
  } else {
    const size_t begin = out.size();
    append_number(out, value);
    if (out.find_first_of(".e", begin) == std::string::npos) out += ".0";
  }
}

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default: {
      constexpr std::string_view kHex = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
}

}  // namespace

bool is_text(std::span<const std::byte> bytes) {
  std::string_view text = as_view(bytes);
  while (!text.empty()) {
    if (text.size() >= 8 && are_plain_ascii(load_eight(text.data()))) {
      text.remove_prefix(8);
      continue;
    }
    const char c = text.front();
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    const bool plain = length > 1 || is_plain_ascii(c) || c == '\t' || c == '\n' || c == '\r';
    // U+0080 to U+009F
    const bool control = length == 2 && c == '\xc2' && static_cast<unsigned char>(text[1]) < 0xa0;
    if (!plain || control) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string_view json_kind(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::bytes:
      return "bytes";
    case FeatureKind::floats:
      return "float";
    case FeatureKind::int64s:
      return "int64";
    case FeatureKind::none:
      break;
  }
  return "none";
}

void JsonText::spill() {
  spill_(text_);
  text_.clear();
}

void JsonText::raw(std::string_view json) { text_ += json; }

void JsonText::string(std::string_view text) {
  text_ += '"';
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < kSpillSize && text.size() - plain >= 8 &&
           stands_for_itself(text.data() + plain)) {
      plain += 8;
    }
    text_ += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    if (plain > 0) {
      spill_if_large();
      continue;
    }
    const size_t length = utf8_length(text);
    if (length > 1) {
      text_ += text.substr(0, length);
    } else if (length == 0) {
      text_ += "\xef\xbf\xbd";
    } else if (is_plain_ascii(text.front()) && text.front() != '"' && text.front() != '\\') {
      text_ += text.front();
    } else {
      append_escaped(text_, text.front());
    }
    text.remove_prefix(std::max<size_t>(length, 1));
    spill_if_large();
  }
  text_ += '"';
}

void JsonText::number(uint64_t value) { append_number(text_, value); }
void JsonText::number(int64_t value) { append_number(text_, value); }
void JsonText::number(float value) { append_float(text_, value); }
void JsonText::number(double value) { append_float(text_, value); }

void JsonText::base64(std::span<const std::byte> bytes) {
  constexpr size_t kPiece = 48 << 10;  // a multiple of three
  text_ += "{\"base64\": \"";
  while (true) {
    const auto piece = bytes.first(std::min(bytes.size(), kPiece));
    append_base64(text_, piece);
    spill_if_large();
    bytes = bytes.subspan(piece.size());
    if (bytes.empty()) break;
  }
  text_ += "\"}";
}

void JsonText::bytes(std::span<const std::byte> value) {
  if (is_text(value)) {
    string(as_view(value));
  } else {
    base64(value);
  }
}

void JsonText::values(const FeatureView& feature) {
  text_ += '[';
  bool first = true;
  const auto next = [&] {
    if (!first) text_ += ", ";
    first = false;
    spill_if_large();
  };
  for_each_value<FeatureKind::bytes>(feature, [&](std::span<const std::byte> value) {
    next();
    bytes(value);
  });
  for_each_value<FeatureKind::floats>(feature, [&](float value) {
    next();
    number(value);
  });
  for_each_value<FeatureKind::int64s>(feature, [&](int64_t value) {
    next();
    number(value);
  });
  text_ += ']';
}

void JsonText::features(std::span<const NamedFeature> features) {
  text_ += '{';
  bool first = true;
  for (const auto& [name, feature] : features) {
    if (!first) text_ += ", ";
    first = false;
    string(name);
    text_ += ": ";
    values(feature);
  }
  text_ += '}';
}

void JsonText::feature_lists(std::span<const FeatureListView> lists) {
  text_ += '{';
  bool first_list = true;
  for (const FeatureListView& list : lists) {
    if (!first_list) text_ += ", ";
    first_list = false;
    string(list.name());
    text_ += ": [";
    bool first_step = true;
    list.for_each_step([&](const FeatureView& step) {
      if (!first_step) text_ += ", ";
      first_step = false;
      if (step.kind() == FeatureKind::none) {
        text_ += "null";
      } else {
        values(step);
      }
    });
    text_ += ']';
  }
  text_ += '}';
}

}  // namespace recordpipe
