// The floor of table_bench: loops that read the records of table_records.h into columns without any
// check. Each feature's key is compared with the key at the same place of the record before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recordpipe {

class TableFloor {
 public:
  // `first`: a record whose order of features all others have.
  explicit TableFloor(std::string_view first);
  // Fills the columns from a batch of packed records. Returns false for a key at another place.
  bool read(std::span<const std::string_view> records);

  // The number of values, so that the work is not removed.
  size_t values() const { return int64s_.back().size() + splits_.back(); }

 private:
  struct Feature {
    std::string key;
    bool is_float;
    bool is_ragged;
    size_t column;
  };

  std::vector<Feature> features_;  // in the order of the records
  std::vector<std::vector<float>> floats_;
  std::vector<std::vector<int64_t>> int64s_;
  std::vector<int64_t> history_;
  std::vector<size_t> splits_;
};

class SequenceFloor {
 public:
  void read(std::span<const std::string_view> records);
  size_t values() const { return actions_.size() + rewards_.size() + tokens_.size(); }

 private:
  std::vector<float> actions_, rewards_;
  std::vector<int64_t> tokens_, ids_;
};

}  // namespace recordpipe
