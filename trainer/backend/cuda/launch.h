// Turns loops into kernels. The *.cu files describe their work as function objects and pass them to
// the three functions below. Compiled by nvcc, these launch kernels; compiled by a host compiler,
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
  constexpr uint32_t rows_per_thread = 4, most_blocks = 512;
  uint32_t columns = 1;
  while (columns < packs && columns < 32) columns *= 2;
  const uint32_t block_rows = kThreads / columns;
  const uint32_t blocks_x = (packs + columns - 1) / columns;
  const uint32_t wanted = rows / (block_rows * rows_per_thread);
  const uint32_t most = std::max(most_blocks / blocks_x, uint32_t{1});
  return {columns, block_rows, blocks_x, std::clamp(wanted, uint32_t{1}, most)};
}

// The threads that finish a column, and the columns that a block finishes.
inline constexpr uint32_t kFinishRows = 32, kFinishColumns = 16;

#ifdef __CUDACC__

template <class Work>
__global__ void __launch_bounds__(kThreads) for_each_kernel(uint32_t n, Work work) {
  const uint32_t index = blockIdx.x * kThreads + threadIdx.x;
  if (index < n) work(index);
}

template <class Work>
__global__ void __launch_bounds__(kThreads)
    reduce_columns_kernel(ColumnGrid grid, uint32_t rows, uint32_t packs, Work work) {
  using Sums = typename Work::Sums;
  __shared__ __align__(16) unsigned char memory[kThreads * sizeof(Sums)];
  Sums* shared = reinterpret_cast<Sums*>(memory);
  const uint32_t column = threadIdx.x % grid.columns, row = threadIdx.x / grid.columns;
  const uint32_t pack = blockIdx.x * grid.columns + column;
  Sums sums = {};
  if (pack < packs)
    for (uint32_t r = blockIdx.y * grid.rows + row; r < rows; r += grid.blocks_y * grid.rows)
      work.add(sums, r, pack);
  shared[threadIdx.x] = sums;
  __syncthreads();
  for (uint32_t half = grid.rows / 2; half > 0; half /= 2) {
    if (row < half) Work::combine(shared[threadIdx.x], shared[threadIdx.x + half * grid.columns]);
    __syncthreads();
  }
  if (row == 0 && pack < packs) work.store(blockIdx.y, pack, shared[threadIdx.x]);
}

template <class Work>
__global__ void __launch_bounds__(kFinishRows* kFinishColumns)
    finish_columns_kernel(uint32_t columns, uint32_t blocks, Work work) {
  using Sums = typename Work::Sums;
  __shared__ __align__(16) unsigned char memory[kFinishRows * kFinishColumns * sizeof(Sums)];
  Sums* shared = reinterpret_cast<Sums*>(memory);
  const uint32_t row = threadIdx.x / kFinishColumns;
  const uint32_t column = blockIdx.x * kFinishColumns + threadIdx.x % kFinishColumns;
  Sums sums = {};
  if (column < columns)
    for (uint32_t block = row; block < blocks; block += kFinishRows)
      Work::combine(sums, work.load(block, column));
  shared[threadIdx.x] = sums;
  __syncthreads();
  for (uint32_t half = kFinishRows / 2; half > 0; half /= 2) {
    if (row < half) Work::combine(shared[threadIdx.x], shared[threadIdx.x + half * kFinishColumns]);
    __syncthreads();
  }
  if (row == 0 && column < columns) work.finish(column, shared[threadIdx.x]);
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
  finish_columns_kernel<<<(columns + kFinishColumns - 1) / kFinishColumns,
                          kFinishRows * kFinishColumns, 0, stream>>>(columns, blocks, work);
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

template <class Work>
void reduce_columns(Stream stream, uint32_t rows, uint32_t packs, const Work& work) {
  const ColumnGrid grid = column_grid(rows, packs);
  run_on(stream, [=] {
    for (uint32_t block = 0; block < grid.blocks_y; ++block)
      for (uint32_t pack = 0; pack < packs; ++pack) {
        std::vector<typename Work::Sums> threads(grid.rows);
        for (uint32_t row = 0; row < grid.rows; ++row)
          for (uint32_t r = block * grid.rows + row; r < rows; r += grid.blocks_y * grid.rows)
            work.add(threads[row], r, pack);
        work.store(block, pack, sum_up<Work>(threads));
      }
  });
}

template <class Work>
void finish_columns(Stream stream, uint32_t columns, uint32_t blocks, const Work& work) {
  run_on(stream, [=] {
    for (uint32_t column = 0; column < columns; ++column) {
      std::vector<typename Work::Sums> threads(kFinishRows);
      for (uint32_t row = 0; row < kFinishRows; ++row)
        for (uint32_t block = row; block < blocks; block += kFinishRows)
          Work::combine(threads[row], work.load(block, column));
      work.finish(column, sum_up<Work>(threads));
    }
  });
}

#endif

}  // namespace recordpipe::cuda
