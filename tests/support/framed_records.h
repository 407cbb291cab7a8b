// Makes framed records, for tests of scans.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"

namespace recordpipe {

inline std::string framed(const std::vector<std::string>& records) {
  std::string out;
  for (const std::string& record : records) append_framed(as_bytes(record), out);
  return out;
}

inline std::string header_of(uint64_t length) { return as_text(encode_record_header(length)); }

inline std::string random_text(std::mt19937_64& random, size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

inline const std::vector<std::string> kThree = {"first", std::string(30, 'z'), "third"};
inline constexpr uint64_t kSecond = 21;
inline constexpr uint64_t kThird = 67;
inline constexpr uint64_t kEnd = 88;

}  // namespace recordpipe
