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

#include "trainer/backend/cuda/device.h"
#include "trainer/backend/cuda/element.h"

#ifdef __CUDACC__
#include <cstring>

#include "trainer/backend/cuda/check_cuda.h"
#else
#include <functional>
#include <vector>
#endif

namespace recordpipe::cuda {

inline constexpr uint32_t kThreads = 256;

// A sum over the rows of a matrix of packs, column by column, in two steps: first within blocks of
// rows, then over the blocks.
struct ColumnGrid {
  uint32_t columns, rows;       // of threads in a block; columns · rows == kThreads
  uint32_t blocks_x, blocks_y;  // across the packs, and down the rows
};

constexpr ColumnGrid column_grid(uint32_t rows, uint32_t packs) {
  constexpr uint32_t rows_per_thread = 4, most_blocks = 256;
  uint32_t columns = 1;
  while (columns < packs && columns < 32) columns *= 2;
  const uint32_t block_rows = kThreads / columns;
  const uint32_t blocks_x = (packs + columns - 1) / columns;
  const uint32_t wanted = rows / (block_rows * rows_per_thread);
  const uint32_t most = std::max(most_blocks / blocks_x, uint32_t{1});
  return {columns, block_rows, blocks_x, std::clamp(wanted, uint32_t{1}, most)};
}

constexpr uint32_t column_groups(uint32_t packs) { return column_grid(1, packs).blocks_x; }

// The columns that a block finishes.
inline constexpr uint32_t kFinishColumns = 16;

#ifdef __CUDACC__

template <class Work>
__global__ void __launch_bounds__(kThreads) for_each_kernel(uint32_t n, Work work) {
  const uint32_t index = blockIdx.x * kThreads + threadIdx.x;
  if (index < n) work(index);
}

// Sums of all threads of a block, word by word, so that neighbouring threads use different banks.
template <class Sums>
class SharedSums {
 public:
  static constexpr uint32_t words = sizeof(Sums) / sizeof(uint32_t);
  static_assert(sizeof(Sums) % sizeof(uint32_t) == 0);

  __device__ explicit SharedSums(uint32_t* memory) : memory_(memory) {}

  __device__ void put(uint32_t thread, const Sums& sums) {
    uint32_t parts[words];
    memcpy(parts, &sums, sizeof(sums));
#pragma unroll
    for (uint32_t word = 0; word < words; ++word) memory_[word * kThreads + thread] = parts[word];
  }

  __device__ Sums get(uint32_t thread) const {
    uint32_t parts[words];
#pragma unroll
    for (uint32_t word = 0; word < words; ++word) parts[word] = memory_[word * kThreads + thread];
    Sums sums;
    memcpy(&sums, parts, sizeof(sums));
    return sums;
  }

 private:
  uint32_t* memory_;
};

// The Sums of the thread that is `distance` later in the warp.
template <class Sums>
__device__ Sums later_in_warp(const Sums& sums, uint32_t distance) {
  uint32_t parts[SharedSums<Sums>::words];
  memcpy(parts, &sums, sizeof(sums));
#pragma unroll
  for (uint32_t& part : parts) part = __shfl_down_sync(0xffffffff, part, distance);
  Sums later;
  memcpy(&later, parts, sizeof(later));
  return later;
}

// Combines the sums of threads row · columns + column of a block over the rows, whose number is a
// power of two. Those of row 0 are the result.
template <class Work, class Sums>
__device__ void sum_rows(uint32_t* memory, uint32_t rows, uint32_t columns, Sums& sums) {
  constexpr uint32_t warp = 32;
  SharedSums<Sums> shared(memory);
  const uint32_t row = threadIdx.x / columns;
  uint32_t half = rows / 2;
  for (; half * columns >= warp; half /= 2) {
    if (row >= half && row < 2 * half) shared.put(threadIdx.x, sums);
    __syncthreads();
    if (row < half) Work::combine(sums, shared.get(threadIdx.x + half * columns));
    __syncthreads();
  }
  for (; half > 0; half /= 2) {
    const Sums other = later_in_warp(sums, half * columns);
    if (row < half) Work::combine(sums, other);
  }
}

// Adds the block's rows and stores their sums.
template <class Work>
__device__ void reduce_block(const ColumnGrid& grid, uint32_t rows, uint32_t packs,
                             const Work& work, uint32_t* memory) {
  const uint32_t column = threadIdx.x % grid.columns, row = threadIdx.x / grid.columns;
  const uint32_t pack = blockIdx.x * grid.columns + column;
  typename Work::Sums sums = {};
  if (pack < packs)
#pragma unroll 4
    for (uint32_t r = blockIdx.y * grid.rows + row; r < rows; r += grid.blocks_y * grid.rows)
      work.add(sums, r, pack);
  sum_rows<Work>(memory, grid.rows, grid.columns, sums);
  if (row == 0 && pack < packs) work.store(blockIdx.y, pack, sums);
}

template <class Work>
__global__ void __launch_bounds__(kThreads)
    reduce_columns_kernel(ColumnGrid grid, uint32_t rows, uint32_t packs, Work work) {
  __shared__ uint32_t memory[kThreads * SharedSums<typename Work::Sums>::words];
  reduce_block(grid, rows, packs, work, memory);
}

template <class Finish>
__device__ void finish_block(uint32_t first, uint32_t width, uint32_t columns, uint32_t blocks,
                             const Finish& work, uint32_t* memory) {
  const uint32_t rows = kThreads / width;
  const uint32_t row = threadIdx.x / width, column = first + threadIdx.x % width;
  typename Finish::Sums sums = {};
  if (column < columns)
#pragma unroll 4
    for (uint32_t block = row; block < blocks; block += rows)
      Finish::combine(sums, work.load(block, column));
  sum_rows<Finish>(memory, rows, width, sums);
  if (row == 0 && column < columns) work.finish(column, sums);
}

template <class Work>
__global__ void __launch_bounds__(kThreads)
    finish_columns_kernel(uint32_t columns, uint32_t blocks, Work work) {
  __shared__ uint32_t memory[kThreads * SharedSums<typename Work::Sums>::words];
  finish_block(blockIdx.x * kFinishColumns, kFinishColumns, columns, blocks, work, memory);
}

// The last block of a column to arrive finishes it: a launch of its own would take longer.
template <class Work, class Finish>
__global__ void __launch_bounds__(kThreads)
    reduce_and_finish_kernel(ColumnGrid grid, uint32_t rows, uint32_t packs, uint32_t lanes,
                             Work work, Finish finish, uint32_t* arrived) {
  constexpr uint32_t words = SharedSums<typename Work::Sums>::words;
  constexpr uint32_t finish_words = SharedSums<typename Finish::Sums>::words;
  __shared__ uint32_t memory[kThreads * (words > finish_words ? words : finish_words)];
  __shared__ bool last;
  reduce_block(grid, rows, packs, work, memory);
  __threadfence();  // the stored sums are visible before the arrival
  __syncthreads();
  // Counts up to the last block and starts again at 0, for the next launch.
  if (threadIdx.x == 0)
    last = atomicInc(&arrived[blockIdx.x], grid.blocks_y - 1) == grid.blocks_y - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  const uint32_t width = grid.columns * lanes;
  finish_block(blockIdx.x * width, width, packs * lanes, grid.blocks_y, finish, memory);
}

// Calls work(index) for all index < n, in any order.
template <class Work>
void for_each(Stream stream, uint32_t n, const Work& work) {
  if (n == 0) return;
  const uint32_t blocks = n / kThreads + (n % kThreads != 0);
  for_each_kernel<<<blocks, kThreads, 0, stream>>>(n, work);
  check(cudaGetLastError(), "a kernel's start");
}

// For each pack: adds rows to a Sums with work.add(sums, row, pack), combines partial Sums with
// Work::combine(into, other), and stores those of each block of rows with work.store(block, pack,
// sums). Sums{} is the empty sum.
template <class Work>
void reduce_columns(Stream stream, uint32_t rows, uint32_t packs, const Work& work) {
  const ColumnGrid grid = column_grid(rows, packs);
  reduce_columns_kernel<<<dim3(grid.blocks_x, grid.blocks_y), kThreads, 0, stream>>>(grid, rows,
                                                                                     packs, work);
  check(cudaGetLastError(), "a kernel's start");
}

// For each column: loads all blocks with work.load(block, column), combines them with
// Work::combine, and passes the result to work.finish(column, sums).
template <class Work>
void finish_columns(Stream stream, uint32_t columns, uint32_t blocks, const Work& work) {
  finish_columns_kernel<<<(columns + kFinishColumns - 1) / kFinishColumns, kThreads, 0, stream>>>(
      columns, blocks, work);
  check(cudaGetLastError(), "a kernel's start");
}

// reduce_columns() with `work`, whose packs have `lanes` columns, then finish_columns() with
// `finish`, which loads what `work` stored. `arrived`: column_groups(packs) numbers, zero before
// and after.
template <class Work, class Finish>
void reduce_and_finish(Stream stream, uint32_t rows, uint32_t packs, uint32_t lanes,
                       const Work& work, const Finish& finish, uint32_t* arrived) {
  const ColumnGrid grid = column_grid(rows, packs);
  reduce_and_finish_kernel<<<dim3(grid.blocks_x, grid.blocks_y), kThreads, 0, stream>>>(
      grid, rows, packs, lanes, work, finish, arrived);
  check(cudaGetLastError(), "a kernel's start");
}

#else

// Enqueues work on a stream. A build for the host must define it.
void run_on(Stream stream, std::function<void()> work);

template <class Work>
void for_each(Stream stream, uint32_t n, const Work& work) {
  run_on(stream, [=] {
    for (uint32_t index = 0; index < n; ++index) work(index);
  });
}

template <class Work, class Sums = typename Work::Sums>
Sums sum_up(std::vector<Sums>& threads) {
  for (size_t half = threads.size() / 2; half > 0; half /= 2)
    for (size_t row = 0; row < half; ++row) Work::combine(threads[row], threads[row + half]);
  return threads.front();
}

// Calls work.store(block, pack, sums) for each block and pack.
template <class Work>
void reduce_blocks(const ColumnGrid& grid, uint32_t rows, uint32_t packs, const Work& work) {
  for (uint32_t block = 0; block < grid.blocks_y; ++block)
    for (uint32_t pack = 0; pack < packs; ++pack) {
      std::vector<typename Work::Sums> threads(grid.rows);
      for (uint32_t row = 0; row < grid.rows; ++row)
        for (uint32_t r = block * grid.rows + row; r < rows; r += grid.blocks_y * grid.rows)
          work.add(threads[row], r, pack);
      work.store(block, pack, sum_up<Work>(threads));
    }
}

// `threads`: those that share a column.
template <class Work>
void finish_each(uint32_t columns, uint32_t blocks, uint32_t threads, const Work& work) {
  for (uint32_t column = 0; column < columns; ++column) {
    std::vector<typename Work::Sums> sums(threads);
    for (uint32_t row = 0; row < threads; ++row)
      for (uint32_t block = row; block < blocks; block += threads)
        Work::combine(sums[row], work.load(block, column));
    work.finish(column, sum_up<Work>(sums));
  }
}

template <class Work>
void reduce_columns(Stream stream, uint32_t rows, uint32_t packs, const Work& work) {
  run_on(stream, [=] { reduce_blocks(column_grid(rows, packs), rows, packs, work); });
}

template <class Work>
void finish_columns(Stream stream, uint32_t columns, uint32_t blocks, const Work& work) {
  run_on(stream, [=] { finish_each(columns, blocks, kThreads / kFinishColumns, work); });
}

template <class Work, class Finish>
void reduce_and_finish(Stream stream, uint32_t rows, uint32_t packs, uint32_t lanes,
                       const Work& work, const Finish& finish, uint32_t*) {
  run_on(stream, [=] {
    const ColumnGrid grid = column_grid(rows, packs);
    reduce_blocks(grid, rows, packs, work);
    finish_each(packs * lanes, grid.blocks_y, kThreads / (grid.columns * lanes), finish);
  });
}

#endif

}  // namespace recordpipe::cuda
