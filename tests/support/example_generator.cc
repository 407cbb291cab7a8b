#include "tests/support/example_generator.h"

#include <array>

namespace recordpipe {

std::string ExampleGenerator::varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
  // Sometimes longer than necessary, like the reserved lengths of some writers.
  if (out.size() < 4 && one_in(16)) {
    out.back() = static_cast<char>(out.back() | 0x80);
    out += '\0';
  }
  return out;
}

std::string ExampleGenerator::tag(uint32_t field, uint32_t wire_type) {
  return varint(field << 3 | wire_type);
}

std::string ExampleGenerator::nested(uint32_t field, const std::string& content) {
  return tag(field, 2) + varint(content.size()) + content;
}

std::string ExampleGenerator::unknown_field(int depth) {
  // 1 is a known field, but not with these wire types (or it is a number in a list).
  static constexpr std::array<uint32_t, 5> kFields = {1, 4, 15, 16, (1u << 29) - 1};
  const uint32_t field = kFields[random_.below(kFields.size())];
  switch (random_.below(5)) {
    case 0:
      return tag(field, 0) + varint(random_.below(1u << 20));
    case 1:
      return tag(field, 1) + std::string(8, 'x');
    case 2:
      return tag(field, 5) + std::string(4, 'y');
    case 3:
      return nested(kFields[1 + random_.below(4)], std::string(random_.below(10), 'z'));
    default: {
      std::string content;
      if (depth < 5) {
        for (size_t i = random_.below(3); i > 0; --i) content += unknown_field(depth + 1);
      }
      return tag(field, 3) + content + tag(field, 4);
    }
  }
}

std::string ExampleGenerator::maybe_unknown() { return one_in(8) ? unknown_field(0) : ""; }

std::string ExampleGenerator::bytes_list() {
  std::string list;
  for (size_t i = random_.below(4); i > 0; --i) {
    list += maybe_unknown() + nested(1, std::string(random_.below(200), '\0'));
  }
  return list;
}

std::string ExampleGenerator::float_value() {
  std::string bytes(4, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random_.below(256));  // NaNs among them
  return bytes;
}

std::string ExampleGenerator::int64_value() {
  const uint64_t magnitude = random_.below(SIZE_MAX) >> random_.below(64);
  return varint(one_in(4) ? ~magnitude : magnitude);
}

std::string ExampleGenerator::float_list() {
  std::string list;
  for (size_t pieces = random_.below(3); pieces > 0; --pieces) {
    list += maybe_unknown();
    if (one_in(2)) {
      list += tag(1, 5) + float_value();
    } else {
      std::string packed;
      for (size_t i = random_.below(5); i > 0; --i) packed += float_value();
      list += nested(1, packed);
    }
  }
  return list;
}

std::string ExampleGenerator::int64_list() {
  std::string list;
  for (size_t pieces = random_.below(3); pieces > 0; --pieces) {
    list += maybe_unknown();
    if (one_in(2)) {
      list += tag(1, 0) + int64_value();
    } else {
      std::string packed;
      for (size_t i = random_.below(5); i > 0; --i) packed += int64_value();
      list += nested(1, packed);
    }
  }
  return list;
}

std::string ExampleGenerator::feature() {
  std::string content;
  for (size_t lists = one_in(4) ? random_.below(4) : 1; lists > 0; --lists) {
    content += maybe_unknown();
    switch (random_.below(3)) {
      case 0:
        content += nested(1, bytes_list());
        break;
      case 1:
        content += nested(2, float_list());
        break;
      default:
        content += nested(3, int64_list());
    }
  }
  return content + maybe_unknown();
}

std::string ExampleGenerator::usual_feature(uint32_t kind, size_t values) {
  if (kind == 1) return nested(1, nested(1, std::string(random_.below(150), 'v')));
  std::string packed;
  for (; values > 0; --values) packed += kind == 2 ? float_value() : int64_value();
  return nested(kind, packed.empty() ? packed : nested(1, packed));
}

// With values of more than 128 bytes in some steps, and other encodings and kinds among the usual.
std::string ExampleGenerator::usual_feature_list() {
  const auto kind = static_cast<uint32_t>(1 + random_.below(3));
  const bool same_size = one_in(2);
  const bool all_usual = one_in(2);
  const auto any_size = [&] { return one_in(8) ? random_.below(40) : random_.below(4); };
  const size_t size = one_in(2) ? 1 : any_size();
  std::string content;
  for (size_t i = random_.below(10); i > 0; --i) {
    if (all_usual || !one_in(6)) {
      content += nested(1, usual_feature(kind, same_size ? size : any_size()));
    } else if (one_in(2)) {
      content += maybe_unknown() + nested(1, feature());
    } else {
      content += nested(1, one_in(2) ? "" : usual_feature(1 + kind % 3, size));
    }
  }
  return content;
}

std::string ExampleGenerator::feature_list() {
  if (one_in(2)) return usual_feature_list();
  // Often the same kind in every step, as in a realistic list.
  const std::string step = feature();
  const bool same = one_in(2);
  std::string content;
  for (size_t i = random_.below(5); i > 0; --i) {
    content += maybe_unknown() + nested(1, same ? step : feature());
  }
  return content;
}

std::string ExampleGenerator::entry(std::string (ExampleGenerator::*value)()) {
  static const std::array<std::string, 6> kKeys = {
      "a", "b", "label", "", "gr\xc3\xbc\xc3\x9f", std::string(200, 'k')};
  std::string content;
  if (!one_in(16)) content += nested(1, kKeys[random_.below(kKeys.size())]);
  if (one_in(16)) content += nested(1, kKeys[random_.below(kKeys.size())]);
  content += maybe_unknown();
  if (!one_in(16)) content += nested(2, (this->*value)());
  if (one_in(8)) content += nested(2, (this->*value)());
  if (one_in(16)) content += nested(1, kKeys[random_.below(kKeys.size())]);
  return content + maybe_unknown();
}

std::string ExampleGenerator::features() {
  std::string content;
  for (size_t i = random_.below(6); i > 0; --i) {
    content += maybe_unknown() + nested(1, entry(&ExampleGenerator::feature));
  }
  return content;
}

std::string ExampleGenerator::feature_lists() {
  std::string content;
  for (size_t i = random_.below(5); i > 0; --i) {
    content += maybe_unknown() + nested(1, entry(&ExampleGenerator::feature_list));
  }
  return content;
}

std::string ExampleGenerator::example() {
  std::string content;
  for (size_t i = one_in(4) ? random_.below(4) : 1; i > 0; --i) {
    content += maybe_unknown() + nested(1, features());
  }
  return content + maybe_unknown();
}

std::string ExampleGenerator::sequence_example() {
  std::string content;
  for (size_t i = one_in(4) ? random_.below(5) : 2; i > 0; --i) {
    content += i % 2 == 0 ? nested(1, features()) : nested(2, feature_lists());
  }
  return content;
}

}  // namespace recordpipe
