// padded_batch: combines vectors of different lengths into the rows of one dense batch.
//
// By default, rows are padded to the longest row of the batch. Yields batches in order. Equivalent
// to Dataset::batch with PaddedCollator.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/base/parameter.h"
#include "recordpipe/pipeline/element.h"

namespace recordpipe {

template <Element V>
struct PaddedBatch {
  std::vector<V> values;        // [rows, length], row-major
  size_t length = 0;            // of each row, including padding
  std::vector<size_t> lengths;  // of the rows before padding

  size_t rows() const { return lengths.size(); }
  std::span<const V> row(size_t i) const { return std::span(values).subspan(i * length, length); }
  friend uint64_t heap_bytes(const PaddedBatch& batch) {
    return heap_bytes(batch.values) + heap_bytes(batch.lengths) + heap_bytes(batch.unpadded);
  }
  friend bool operator==(const PaddedBatch& a, const PaddedBatch& b) {
    return a.values == b.values && a.length == b.length && a.lengths == b.lengths;
  }

  // The rows before padding, until the length of the longest row is known. Kept to reuse their
  // memory.
  std::vector<std::vector<V>> unpadded = {};
};

// The collator of padded_batch.
template <Element V>
struct PaddedCollator {
  using Batch = PaddedBatch<V>;
  V padding{};
  std::optional<size_t> length = {};

  std::string name() const { return "padded_batch"; }
  std::vector<Parameter> parameters() const {
    std::vector<Parameter> given;
    if constexpr (std::floating_point<V>) given.push_back({"padding", shortest_text(padding)});
    if constexpr (std::integral<V>) given.push_back({"padding", padding});
    given.push_back({"length", length ? std::to_string(*length) : "longest"});
    return given;
  }

  void reset(Batch& batch, size_t rows) const {
    batch.lengths.resize(rows);
    batch.unpadded.resize(rows);
  }

  void set(Batch& batch, size_t row, std::vector<V>&& values) const {
    if (length && values.size() > *length) {
      throw Error({.kind = ErrorKind::invalid_argument,
                   .reason = "padded_batch: a row of " + std::to_string(values.size()) +
                             " values, where length=" + std::to_string(*length)});
    }
    batch.lengths[row] = values.size();
    std::swap(batch.unpadded[row], values);
  }

  void finish(Batch& batch) const {
    batch.length = length ? *length : std::ranges::max(batch.lengths);
    if (batch.length > batch.values.max_size() / batch.rows()) {
      throw Error({.kind = ErrorKind::limit_exceeded,
                   .reason = "padded_batch: " + std::to_string(batch.rows()) + " rows of " +
                             std::to_string(batch.length) + " values don't fit in memory"});
    }
    batch.values.assign(batch.rows() * batch.length, padding);
    for (size_t row = 0; row < batch.rows(); ++row) {
      std::ranges::move(batch.unpadded[row], batch.values.data() + row * batch.length);
    }
  }
};

}  // namespace recordpipe
