// The number of zeros in a tensor: in blocks of rows, then the sum of the blocks.
#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace recordpipe::cuda {
namespace {

template <class T>
struct BlockZeros {
  struct Sums {
    uint32_t zeros;
  };
  CountZeros count;

  RECORDPIPE_HOST_DEVICE void add(Sums& sums, uint32_t row, uint32_t pack) const {
    const uint32_t channel = pack * kLanes<T>;
    const T* values = static_cast<const T*>(count.values);
    const Pack<T> loaded = load(values + static_cast<size_t>(row) * count.channels + channel);
    for (uint32_t lane = 0; lane < kLanes<T>; ++lane)
      if (channel + lane < count.real_channels && loaded.lanes[lane] == 0) ++sums.zeros;
  }
  RECORDPIPE_HOST_DEVICE static void combine(Sums& sums, const Sums& other) {
    sums.zeros += other.zeros;
  }
  RECORDPIPE_HOST_DEVICE void store(uint32_t block, uint32_t pack, const Sums& sums) const {
    count.partial_counts[block * (count.channels / kLanes<T>)+pack] = sums.zeros;
  }
};

struct SumCounts {
  struct Sums {
    uint32_t zeros;
  };
  CountZeros count;

  RECORDPIPE_HOST_DEVICE Sums load(uint32_t block, uint32_t) const {
    return {count.partial_counts[block]};
  }
  RECORDPIPE_HOST_DEVICE static void combine(Sums& sums, const Sums& other) {
    sums.zeros += other.zeros;
  }
  RECORDPIPE_HOST_DEVICE void finish(uint32_t, const Sums& sums) const {
    *count.result = sums.zeros;
  }
};

uint32_t packs_of(uint32_t channels, Element element) {
  return channels / static_cast<uint32_t>(lanes_of(element));
}

}  // namespace

size_t partial_counts_size(uint32_t rows, uint32_t channels, Element element) {
  const uint32_t packs = packs_of(channels, element);
  return size_t{column_grid(rows, packs).blocks_y} * packs;
}

void count_zeros(Stream stream, const CountZeros& count) {
  const uint32_t packs = packs_of(count.channels, count.element);
  with_element(count.element, [&]<class T>(T*) {
    reduce_columns(stream, count.rows, packs, BlockZeros<T>{count});
  });
  finish_columns(stream, 1, column_grid(count.rows, packs).blocks_y * packs, SumCounts{count});
}

}  // namespace recordpipe::cuda
