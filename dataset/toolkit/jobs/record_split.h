// Divides records into named splits, such as train, validation and test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/toolkit/where.h"

namespace recordpipe {

struct SplitPart {
  std::string name = {};  // letters, digits, "_", "-" and "."; the first is a letter or a digit
  double fraction = 0;    // of the records; above 0
};

struct RecordSplit {
  std::vector<SplitPart> parts = {};  // empty: no splits. The fractions add up to 1
  // The feature that decides: records with equal values are in the same split. It must have one
  // int64 or bytes value. By default, each record is drawn by the seed, the name of its file and
  // its number in that file.
  std::optional<std::string> key = {};
};

// Throws Error{invalid_argument} for names that are no part of a file name or are there twice, and
// for fractions that are not above 0 or don't add up to 1 (up to 1e-6).
void check_split(const RecordSplit& split);

// Throws Error{invalid_argument} if two inputs have the same bare_name(): their records would be
// drawn alike. Only without a key.
void check_split_inputs(const RecordSplit& split, const std::vector<std::string>& paths);

// Both ways give a number u in [0, 1); the split is the first whose fraction, added to those before
// it, exceeds u. They are the same on all machines and in all versions:
//
//     key     u = h / 2^64, where h = seed_of_name(seed, value): beginning with the seed, h becomes
//             derive_key(h, b) (philox.h) for each byte b of the value and then for its length; an
//             int64 is 8 bytes, little-endian
//     drawn   by Philox, keyed by the seed and bare_name() of the file, with the record's number
class RecordSplitter {
 public:
  // Throws the errors of check_split().
  RecordSplitter(RecordSplit split, uint64_t seed);

  // Returns the number of the record's split. Throws Error{not_found} or Error{corrupted}, with the
  // record's path and offset, for a record whose key is missing or has not one int64 or bytes
  // value. record.path must stay valid until the next call.
  size_t split_of(const NumberedRecord& record);
  // The same without a key, of record `number` of the file.
  size_t drawn(const std::string& path, uint64_t number);

 private:
  size_t split_at(double u) const;
  size_t by_key(const NumberedRecord& record) const;
  size_t by_number(uint64_t number) const;
  void begin_file(std::string_view path);

  const RecordSplit split_;
  const uint64_t seed_;
  std::vector<double> ends_;  // sums of fractions
  std::string path_;
  uint64_t file_key_ = 0;
};

}  // namespace recordpipe
