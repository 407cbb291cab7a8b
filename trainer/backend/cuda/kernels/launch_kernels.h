// The functions of launch.h as kernels, for nvcc.
#pragma once

#include <cstdint>
#include <cstring>

#include "trainer/backend/cuda/device/check_cuda.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace recordpipe::cuda {

template <class Work>
__global__ void __launch_bounds__(kThreads) for_each_kernel(uint32_t n, Work work) {
  const uint32_t index = blockIdx.x * kThreads + threadIdx.x;
  if (index < n) work(index);
}

// Sums in shared memory, word by word, so that neighbouring threads use different banks.
template <class Sums>
class SharedSums {
 public:
  static constexpr uint32_t words = sizeof(Sums) / sizeof(uint32_t);
  static constexpr uint32_t size = kWarps * kMaxColumns;
  static_assert(sizeof(Sums) % sizeof(uint32_t) == 0);

  __device__ explicit SharedSums(uint32_t* memory) : memory_(memory) {}

  __device__ void put(uint32_t index, const Sums& sums) {
    uint32_t parts[words];
    memcpy(parts, &sums, sizeof(sums));
#pragma unroll
    for (uint32_t word = 0; word < words; ++word) memory_[word * size + index] = parts[word];
  }

  __device__ Sums get(uint32_t index) const {
    uint32_t parts[words];
#pragma unroll
    for (uint32_t word = 0; word < words; ++word) parts[word] = memory_[word * size + index];
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

// Combines the sums of threads row · columns + column of a block over the rows: within warps, then
// over the warps. The result of a column is in the first thread of the warp of that number.
template <class Work, class Sums>
__device__ void sum_rows(uint32_t* memory, uint32_t columns, Sums& sums) {
  const uint32_t warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  for (uint32_t half = kWarp / 2; half >= columns; half /= 2)
    Work::combine(sums, later_in_warp(sums, half));
  SharedSums<Sums> shared(memory);
  if (lane < columns) shared.put(warp * columns + lane, sums);
  __syncthreads();
  if (warp >= columns) return;
  sums = shared.get(lane * columns + warp);
  for (uint32_t half = kWarps / 2; half > 0; half /= 2)
    Work::combine(sums, later_in_warp(sums, half));
}

__device__ inline bool is_first_in_warp() { return threadIdx.x % kWarp == 0; }

// Adds the block's rows and stores their sums.
template <class Work>
__device__ void reduce_block(const ColumnGrid& grid, uint32_t rows, uint32_t packs,
                             const Work& work, uint32_t* memory) {
  const uint32_t row = threadIdx.x / grid.columns, first_pack = blockIdx.x * grid.columns;
  const uint32_t pack = first_pack + threadIdx.x % grid.columns;
  typename Work::Sums sums = {};
  if (pack < packs)
#pragma unroll 2
    for (uint32_t r = blockIdx.y * grid.rows + row; r < rows; r += grid.blocks_y * grid.rows)
      work.add(sums, r, pack);
  sum_rows<Work>(memory, grid.columns, sums);
  const uint32_t column = threadIdx.x / kWarp;
  if (is_first_in_warp() && column < grid.columns && first_pack + column < packs)
    work.store(blockIdx.y, first_pack + column, sums);
}

template <class Work>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_columns_kernel(ColumnGrid grid, uint32_t rows, uint32_t packs, Work work) {
  __shared__ uint32_t
      memory[SharedSums<typename Work::Sums>::size * SharedSums<typename Work::Sums>::words];
  reduce_block(grid, rows, packs, work, memory);
}

// Finishes kMaxColumns columns.
template <class Finish>
__device__ void finish_block(uint32_t first, uint32_t columns, uint32_t blocks, const Finish& work,
                             uint32_t* memory) {
  const uint32_t column = first + threadIdx.x % kMaxColumns;
  typename Finish::Sums sums = {};
  if (column < columns)
#pragma unroll 2
    for (uint32_t block = threadIdx.x / kMaxColumns; block < blocks;
         block += kReduceThreads / kMaxColumns)
      Finish::combine(sums, work.load(block, column));
  sum_rows<Finish>(memory, kMaxColumns, sums);
  const uint32_t summed = threadIdx.x / kWarp;
  if (is_first_in_warp() && summed < kMaxColumns && first + summed < columns)
    work.finish(first + summed, sums);
}

template <class Work>
__global__ void __launch_bounds__(kReduceThreads)
    finish_columns_kernel(uint32_t columns, uint32_t blocks, Work work) {
  __shared__ uint32_t
      memory[SharedSums<typename Work::Sums>::size * SharedSums<typename Work::Sums>::words];
  finish_block(blockIdx.x * kMaxColumns, columns, blocks, work, memory);
}

// The last block of a group of columns to arrive finishes them: a launch of its own would take
// longer.
template <class Work, class Finish>
__global__ void __launch_bounds__(kReduceThreads)
    reduce_and_finish_kernel(ColumnGrid grid, uint32_t rows, uint32_t packs, uint32_t lanes,
                             Work work, Finish finish, uint32_t* arrived) {
  constexpr uint32_t words = SharedSums<typename Work::Sums>::words;
  constexpr uint32_t finish_words = SharedSums<typename Finish::Sums>::words;
  __shared__ uint32_t
      memory[SharedSums<typename Work::Sums>::size * (words > finish_words ? words : finish_words)];
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
  const uint32_t begin = blockIdx.x * grid.columns * lanes;
  const uint32_t end = min(begin + grid.columns * lanes, packs * lanes);
  for (uint32_t first = begin; first < end; first += kMaxColumns) {
    finish_block(first, end, grid.blocks_y, finish, memory);
    __syncthreads();  // the memory is free again
  }
}

template <class Work>
void for_each(Stream stream, uint32_t n, const Work& work) {
  if (n == 0) return;
  const uint32_t blocks = n / kThreads + (n % kThreads != 0);
  for_each_kernel<<<blocks, kThreads, 0, stream>>>(n, work);
  check(cudaGetLastError(), "a kernel's start");
}

template <class Work>
void reduce_columns(Stream stream, uint32_t rows, uint32_t packs, const Work& work) {
  const ColumnGrid grid = column_grid(rows, packs);
  reduce_columns_kernel<<<dim3(grid.blocks_x, grid.blocks_y), kReduceThreads, 0, stream>>>(
      grid, rows, packs, work);
  check(cudaGetLastError(), "a kernel's start");
}

template <class Work>
void finish_columns(Stream stream, uint32_t columns, uint32_t blocks, const Work& work) {
  finish_columns_kernel<<<(columns + kMaxColumns - 1) / kMaxColumns, kReduceThreads, 0, stream>>>(
      columns, blocks, work);
  check(cudaGetLastError(), "a kernel's start");
}

template <class Work, class Finish>
void reduce_and_finish(Stream stream, uint32_t rows, uint32_t packs, uint32_t lanes,
                       const Work& work, const Finish& finish, uint32_t* arrived) {
  const ColumnGrid grid = column_grid(rows, packs);
  reduce_and_finish_kernel<<<dim3(grid.blocks_x, grid.blocks_y), kReduceThreads, 0, stream>>>(
      grid, rows, packs, lanes, work, finish, arrived);
  check(cudaGetLastError(), "a kernel's start");
}

}  // namespace recordpipe::cuda
