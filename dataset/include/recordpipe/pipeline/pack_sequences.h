// pack_sequences: packs short sequences into rows of fixed length, as T5 and Grain do, so that
// hardly any place is padding. Parameters and results of Dataset::pack_sequences.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "recordpipe/base/parameter.h"
#include "recordpipe/pipeline/element.h"

namespace recordpipe {

// What becomes of a sequence that is longer than a row.
enum class TooLong { error, truncate };

struct PackOptions {
  // The number of rows, at least 1, that are filled at a time. More rows waste less place, and take
  // more memory; the sequences of an open row are held.
  size_t open_rows = 64;
  TooLong too_long = TooLong::error;
};

// One feature of a packed row. All three vectors have the row's length.
template <Element V>
struct PackedRow {
  std::vector<V> values;             // sequence after sequence, then padding
  std::vector<int32_t> segment_ids;  // 1 in the first sequence, 2 in the second, ...; 0 in padding
  std::vector<int32_t> positions;    // in the sequence, from 0; 0 in padding

  friend uint64_t heap_bytes(const PackedRow& row) {
    return heap_bytes(row.values) + heap_bytes(row.segment_ids) + heap_bytes(row.positions) +
           heap_bytes(row.sequences);
  }
  friend bool operator==(const PackedRow& a, const PackedRow& b) {
    return a.values == b.values && a.segment_ids == b.segment_ids && a.positions == b.positions;
  }

  // The sequences, until all of them are known. Kept to reuse their memory.
  std::vector<std::vector<V>> sequences = {};
};

// The collator of pack_sequences for one feature; collators for several call one for each. Cuts a
// sequence that is longer than the row.
template <Element V>
struct PackCollator {
  using Batch = PackedRow<V>;
  size_t length = 0;
  V padding{};

  std::vector<Parameter> parameters() const {
    if constexpr (std::floating_point<V>) return {{"padding", shortest_text(padding)}};
    if constexpr (std::integral<V>) return {{"padding", padding}};
    return {};
  }
  void reset(Batch& row, size_t sequences) const { row.sequences.resize(sequences); }
  void set(Batch& row, size_t sequence, std::vector<V>&& values) const {
    std::swap(row.sequences[sequence], values);
  }
  void finish(Batch& row) const {
    row.values.assign(length, padding);
    row.segment_ids.assign(length, 0);
    row.positions.assign(length, 0);
    size_t at = 0;
    int32_t segment = 0;
    for (std::vector<V>& sequence : row.sequences) {
      ++segment;
      const size_t count = std::min(sequence.size(), length - at);
      for (size_t i = 0; i < count; ++i, ++at) {
        row.values[at] = std::move(sequence[i]);
        row.segment_ids[at] = segment;
        row.positions[at] = static_cast<int32_t>(i);
      }
    }
  }
};

}  // namespace recordpipe
