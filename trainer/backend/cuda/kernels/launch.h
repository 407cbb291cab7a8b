// Turns loops into kernels. The *.cu files describe their work as function objects and pass them to
// the four functions below. Compiled by nvcc, these launch kernels; compiled by a host compiler,
// they are loops that do the same in the same order, so that tests can run the kernels' arithmetic
// without a GPU.
//
// The division of work depends on its size only, not on the GPU, and sums are added in a fixed
// order: the same values give the same bits on every GPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "trainer/backend/cuda/device/device.h"
#include "trainer/backend/cuda/kernels/element.h"

namespace recordpipe::cuda {

inline constexpr uint32_t kThreads = 256;

// A sum over the rows of a matrix of packs, column by column, in two steps: first within blocks of
// rows, then over the blocks. Blocks have as many threads as possible, so that there are few blocks
// whose sums must be added at the end.
inline constexpr uint32_t kReduceThreads = 1024, kWarp = 32, kWarps = kReduceThreads / kWarp;
inline constexpr uint32_t kMaxColumns = 16;  // of a block

struct ColumnGrid {
  uint32_t columns, rows;       // of threads in a block; columns · rows == kReduceThreads
  uint32_t blocks_x, blocks_y;  // across the packs, and down the rows
};

constexpr ColumnGrid column_grid(uint32_t rows, uint32_t packs) {
  constexpr uint32_t min_rows_per_thread = 2, max_blocks = 128;
  uint32_t columns = 1;
  while (columns < packs && columns < kMaxColumns) columns *= 2;
  const uint32_t block_rows = kReduceThreads / columns;
  const uint32_t blocks_x = (packs + columns - 1) / columns;
  const uint32_t wanted = rows / (block_rows * min_rows_per_thread);
  const uint32_t most = std::max(max_blocks / blocks_x, uint32_t{1});
  return {columns, block_rows, blocks_x, std::clamp(wanted, uint32_t{1}, most)};
}

constexpr uint32_t column_groups(uint32_t packs) { return column_grid(1, packs).blocks_x; }

// --- the four functions ---

// Calls work(index) for all index < n, in any order.
template <class Work>
void for_each(Stream stream, uint32_t n, const Work& work);

// For each pack: adds rows to a Sums with work.add(sums, row, pack), combines partial Sums with
// Work::combine(into, other), and stores those of each block of rows with work.store(block, pack,
// sums). Sums{} is the empty sum.
template <class Work>
void reduce_columns(Stream stream, uint32_t rows, uint32_t packs, const Work& work);

// For each column: loads all blocks with work.load(block, column), combines them with
// Work::combine, and passes the result to work.finish(column, sums).
template <class Work>
void finish_columns(Stream stream, uint32_t columns, uint32_t blocks, const Work& work);

// reduce_columns() with `work`, whose packs have `lanes` columns, then finish_columns() with
// `finish`, which loads what `work` stored. `arrived`: column_groups(packs) numbers, zero before
// and after.
template <class Work, class Finish>
void reduce_and_finish(Stream stream, uint32_t rows, uint32_t packs, uint32_t lanes,
                       const Work& work, const Finish& finish, uint32_t* arrived);

}  // namespace recordpipe::cuda

#ifdef __CUDACC__
#include "trainer/backend/cuda/kernels/launch_kernels.h"
#else
#include "trainer/backend/cuda/kernels/launch_loops.h"
#endif
