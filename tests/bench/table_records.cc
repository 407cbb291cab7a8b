#include "tests/bench/table_records.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace recordpipe {
namespace {

using Random = std::mt19937_64;

void add_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::string field(int number, std::string_view content) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  add_varint(out, content.size());
  return out += content;
}

std::string floats(std::span<const float> values, bool packed = true) {
  std::string content;
  for (const float value : values) {
    if (!packed) content += '\x0d';
    content.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return field(2, packed ? field(1, content) : content);
}

std::string int64s(std::span<const uint64_t> values, bool packed = true) {
  std::string content;
  for (const uint64_t value : values) {
    if (!packed) content += '\x08';
    add_varint(content, value);
  }
  return field(3, packed ? field(1, content) : content);
}

std::string int64(uint64_t value, bool packed = true) { return int64s({&value, 1}, packed); }

std::string entry(std::string_view key, const std::string& value) {
  return field(1, field(1, key) + field(2, value));
}

float normal(Random& random) { return std::normal_distribution<float>()(random); }
uint64_t category(Random& random) { return random() % (1 << 20); }

}  // namespace

std::vector<std::string> make_table(size_t rows, TableEncoding encoding) {
  const bool packed = encoding != TableEncoding::unpacked;
  Random random(7);
  std::vector<std::string> records;
  for (size_t row = 0; row < rows; ++row) {
    std::vector<std::string> entries;
    for (size_t i = 0; i < kTableFloats; ++i) {
      const float value = normal(random);
      entries.push_back(entry(fmt::format("dense_{:02}", i), floats({&value, 1}, packed)));
    }
    for (size_t i = 0; i < kTableCategories; ++i) {
      entries.push_back(entry(fmt::format("category_{:02}", i), int64(category(random), packed)));
    }
    std::vector<uint64_t> history(1 + random() % 9);
    for (uint64_t& value : history) value = category(random);
    entries.push_back(entry("history", int64s(history, packed)));
    entries.push_back(entry("label", int64(random() % 2, packed)));
    if (encoding == TableEncoding::random_order) std::ranges::shuffle(entries, random);
    std::string features;
    for (const std::string& each : entries) features += each;
    records.push_back(field(1, features));
  }
  return records;
}

std::vector<std::string> make_wide_table(size_t rows) {
  Random random(7);
  std::vector<std::string> records;
  for (size_t row = 0; row < rows; ++row) {
    std::string features;
    for (size_t i = 0; i < 1000; ++i) {
      features += entry(fmt::format("feature_{:03}", i), int64(category(random)));
    }
    records.push_back(field(1, features));
  }
  return records;
}

std::vector<std::string> make_sequences(size_t rows) {
  Random random(7);
  std::vector<std::string> records;
  for (size_t row = 0; row < rows; ++row) {
    std::string action, reward, token;
    for (size_t step = 0; step < kSequenceSteps; ++step) {
      float values[kSequenceAction];
      for (float& value : values) value = normal(random);
      action += field(1, floats(values));
      reward += field(1, floats({values, 1}));
      token += field(1, int64(category(random)));
    }
    records.push_back(
        field(1, entry("id", int64(row))) +
        field(2, entry("action", action) + entry("reward", reward) + entry("token", token)));
  }
  return records;
}

}  // namespace recordpipe
