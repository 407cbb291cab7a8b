// Pipelines of operators drawn by chance, and their twins.
#pragma once

#include <cstdint>
#include <vector>

#include "dataset/base/philox.h"
#include "dataset/pipeline/dataset.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/naive.h"

namespace recordpipe {

// The same operators applied to a pipeline and to its twin.
struct Chain {
  Dataset<int> dataset;
  naive::Pipeline<int> twin;

  void grow(Random& random, int& repeats) {
    const uint64_t seed = random();
    const uint32_t n = random.below(90) + 1;
    switch (random.below(10)) {
      case 0: {
        const auto f = [n](int x) { return x * 7 + static_cast<int>(n); };
        dataset = dataset.map(f), twin = twin.map(f);
        break;
      }
      case 1: {
        const auto f = [](int x, Random& r) { return static_cast<int>(x ^ r.below(1 << 20)); };
        dataset = dataset.map_with_random(seed, f), twin = twin.map_with_random(seed, f);
        break;
      }
      case 2: {
        const auto p = [n](int x) { return static_cast<uint32_t>(x) % (n % 7 + 2) != 0; };
        dataset = dataset.filter(p), twin = twin.filter(p);
        break;
      }
      case 3:
        dataset = dataset.shuffle(n, seed), twin = twin.shuffle(n, seed);
        break;
      case 4:
        if (++repeats > 3) break;  // long enough
        dataset = dataset.repeat(n % 4), twin = twin.repeat(n % 4);
        break;
      case 5:
        dataset = dataset.take(n * 3), twin = twin.take(n * 3);
        break;
      case 6:
        dataset = dataset.skip(n / 4), twin = twin.skip(n / 4);
        break;
      case 7:
        dataset = dataset.prefetch(n % 9 + 1);
        break;
      case 8: {
        const auto f = [n](int x) {
          return std::vector<int>(static_cast<uint32_t>(x) % (n % 4 + 1), x);
        };
        dataset = dataset.flat_map(f), twin = twin.flat_map(f);
        break;
      }
      case 9:
        dataset = dataset.batch(n % 11 + 1).unbatch(), twin = twin.batch(n % 11 + 1).unbatch();
        break;
    }
  }
};

inline Chain random_chain(Random& random) {
  const auto source = numbers(static_cast<int>(random.below(300)));
  Chain chain{from_vector(source), naive::from_vector(source)};
  int repeats = 0;
  for (uint32_t length = random.below(8); length > 0; --length) chain.grow(random, repeats);
  return chain;
}

}  // namespace recordpipe
