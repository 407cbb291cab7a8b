// Pipelines of operators drawn by chance, and their twins.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dataset/base/philox.h"
#include "dataset/pipeline/dataset.h"
#include "dataset/pipeline/from_generator.h"
#include "dataset/pipeline/from_vector.h"
#include "dataset/pipeline/sample_from_datasets.h"
#include "dataset/pipeline/zip.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/naive.h"

namespace recordpipe {

// The same operators applied to a pipeline and to its twin.
struct Chain {
  Dataset<int> dataset;
  naive::Pipeline<int> twin;
  bool random_access = true;

  void grow(Random& random, int& repeats) {
    const uint64_t seed = random();
    const uint32_t n = random.below(90) + 1;
    // Only what keeps it says so.
    const bool had_random_access = std::exchange(random_access, false);
    switch (random.below(21)) {
      case 0: {
        const auto f = [n](int x) { return mixed(x, n); };
        dataset = dataset.map(f), twin = twin.map(f);
        random_access = had_random_access;
        break;
      }
      case 1: {
        const auto f = [](int x, Random& r) { return static_cast<int>(x ^ r.below(1 << 20)); };
        dataset = dataset.map_with_random(seed, f), twin = twin.map_with_random(seed, f);
        random_access = had_random_access;
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
        random_access = had_random_access;
        break;
      case 6:
        dataset = dataset.skip(n / 4), twin = twin.skip(n / 4);
        random_access = had_random_access;
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
      case 10: {
        // What is bad is shuffled with the rest before it is left out.
        const auto good = [n](int x) { return static_cast<uint32_t>(x) % (n % 5 + 3) != 1; };
        const auto check = [good](int x) {
          if (!good(x)) throw Error({.kind = ErrorKind::corrupted, .reason = "a bad element"});
          return x;
        };
        dataset = dataset.map(check).shuffle(n, seed).ignore_errors();
        twin = twin.shuffle(n, seed).filter(good);
        break;
      }
      case 11: {
        const auto open = [seed](auto source, int x) {
          return source.take(static_cast<uint32_t>(x) % 6).shuffle(3, seed).map([x](int i) {
            return x + i;
          });
        };
        const size_t cycle_length = n % 5 + 1, block_length = n % 3 + 1;
        dataset = dataset.interleave(
            [open](int x) {
              return open(from_vector(std::vector<int>{1, 2, 3, 4, 5}), x);
            },
            cycle_length, block_length);
        twin = twin.interleave(
            [open](int x) {
              return open(naive::from_vector(std::vector<int>{1, 2, 3, 4, 5}), x);
            },
            cycle_length, block_length);
        break;
      }
      case 12: {
        const auto sum = [](const std::vector<int>& window) {
          return std::accumulate(window.begin(), window.end(), 0,
                                 [](int a, int b) { return (a * 3 + b) % 100'003; });
        };
        const size_t size = n % 7 + 1, shift = n % 4 + 1;
        const bool drop = n % 2 == 0;
        dataset =
            dataset.window(size, shift, drop ? DropRemainder::yes : DropRemainder::no).map(sum);
        twin = twin.window(size, shift, drop).map(sum);
        break;
      }
      case 13: {
        const auto f = [](uint32_t state, int x) {
          const uint32_t next = (state * 31 + static_cast<uint32_t>(x)) % 1'000'003;
          return std::pair(next, static_cast<int>(next));
        };
        // The second state is reached again by computing, as it can't be copied as bytes.
        const auto g = [](const std::string& state, int x) {
          const std::string next = std::to_string(x) + state.substr(0, 8);
          return std::pair(next, static_cast<int>(next.size()) + x % 1000);
        };
        if (n % 2 == 0) {
          dataset = dataset.scan(uint32_t{n}, f), twin = twin.scan(uint32_t{n}, f);
        } else {
          dataset = dataset.scan(std::string("s"), g), twin = twin.scan(std::string("s"), g);
        }
        break;
      }
      case 14:
        dataset = dataset.cache(), twin = twin.cache();
        break;
      case 15:
        if (!had_random_access) break;
        dataset = dataset.global_shuffle(seed), twin = twin.global_shuffle(seed);
        break;
      case 16: {
        const auto f = [](const std::pair<int64_t, int>& x) { return mixed(x.second, x.first); };
        dataset = dataset.enumerate(n).map(f), twin = twin.enumerate(n).map(f);
        random_access = had_random_access;
        break;
      }
      case 17: {
        const Chain other = short_one(random);
        dataset = dataset.concatenate(other.dataset), twin = twin.concatenate(other.twin);
        random_access = had_random_access && other.random_access;
        break;
      }
      case 18: {
        const Chain other = short_one(random);
        const auto f = [](const std::tuple<int, int>& x) {
          return mixed(std::get<0>(x), std::get<1>(x));
        };
        dataset = zip(dataset, other.dataset).map(f), twin = twin.zip(other.twin).map(f);
        random_access = had_random_access && other.random_access;
        break;
      }
      case 19: {
        const Chain other = short_one(random);
        const bool stop = n % 2 == 0;
        dataset =
            sample_from_datasets<int>({dataset, other.dataset}, {3, 1}, seed,
                                      stop ? StopOnEmptyDataset::yes : StopOnEmptyDataset::no);
        twin = twin.sample(other.twin, {uint64_t{3} << 60, uint64_t{1} << 60}, seed, stop);
        break;
      }
      case 20: {
        const size_t shards = n % 3 + 1, index = n % shards;
        const bool drop = n % 2 == 0;
        dataset = dataset.shard(shards, index, drop ? DropRemainder::yes : DropRemainder::no);
        twin = twin.shard(shards, index, drop);
        random_access = had_random_access;
        break;
      }
    }
  }

  // To be put together with another.
  static Chain short_one(Random& random) {
    const auto source = numbers(static_cast<int>(random.below(200)));
    Chain chain{from_vector(source), naive::from_vector(source)};
    const uint64_t seed = random();
    const auto f = [](int x, Random& r) { return static_cast<int>(x ^ r.below(1 << 20)); };
    const auto p = [](int x) { return x % 3 != 0; };
    switch (random.below(4)) {
      case 0:
        chain.dataset = chain.dataset.shuffle(20, seed), chain.twin = chain.twin.shuffle(20, seed);
        chain.random_access = false;
        break;
      case 1:
        chain.dataset = chain.dataset.filter(p).prefetch(5), chain.twin = chain.twin.filter(p);
        chain.random_access = false;
        break;
      default:
        break;
    }
    chain.dataset = chain.dataset.map_with_random(seed, f);
    chain.twin = chain.twin.map_with_random(seed, f);
    return chain;
  }

  static int mixed(int x, int64_t y) {
    return static_cast<int>((static_cast<uint32_t>(x) * 7 + static_cast<uint32_t>(y)) & 0x3FFFFFFF);
  }
};

inline Chain random_chain(Random& random) {
  const int size = static_cast<int>(random.below(300));
  Chain chain{from_vector(numbers(size)), naive::from_vector(numbers(size))};
  if (random.below(4) == 0) {
    chain.dataset = from_generator([size] {
      return
          [size, next = 0]() mutable { return next < size ? std::optional(next++) : std::nullopt; };
    });
    chain.random_access = false;
  }
  int repeats = 0;
  for (uint32_t length = random.below(8); length > 0; --length) chain.grow(random, repeats);
  return chain;
}

}  // namespace recordpipe
