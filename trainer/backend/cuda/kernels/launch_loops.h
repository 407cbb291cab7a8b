// The functions of launch.h as loops, for the host's compilers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include "trainer/backend/cuda/kernels/launch.h"

namespace recordpipe::cuda {

// Enqueues work on a stream. A build for the host must define it.
void run_on(Stream stream, std::function<void()> work);

template <class Work>
void for_each(Stream stream, uint32_t n, const Work& work) {
  run_on(stream, [=] {
    for (uint32_t index = 0; index < n; ++index) work(index);
  });
}

template <class Work, class Sums = typename Work::Sums>
void combine_halves(Sums* first, size_t count, size_t stride) {
  for (size_t half = count / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i) Work::combine(first[i * stride], first[(i + half) * stride]);
}

// As sum_rows(): `threads` are those of a column.
template <class Work, class Sums = typename Work::Sums>
Sums sum_up(std::vector<Sums>& threads) {
  const size_t of_warp = threads.size() / kWarps;
  for (size_t warp = 0; warp < kWarps; ++warp)
    combine_halves<Work>(&threads[warp * of_warp], of_warp, 1);
  combine_halves<Work>(threads.data(), kWarps, of_warp);
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

template <class Work>
void finish_each(uint32_t columns, uint32_t blocks, const Work& work) {
  constexpr uint32_t threads = kReduceThreads / kMaxColumns;
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
  run_on(stream, [=] { finish_each(columns, blocks, work); });
}

template <class Work, class Finish>
void reduce_and_finish(Stream stream, uint32_t rows, uint32_t packs, uint32_t lanes,
                       const Work& work, const Finish& finish, uint32_t* arrived) {
  run_on(stream, [=] {
    const ColumnGrid grid = column_grid(rows, packs);
    for (uint32_t group = 0; group < grid.blocks_x; ++group)
      if (arrived[group] != 0) throw std::logic_error("a counter of blocks isn't zero");
    reduce_blocks(grid, rows, packs, work);
    finish_each(packs * lanes, grid.blocks_y, finish);
  });
}

}  // namespace recordpipe::cuda
