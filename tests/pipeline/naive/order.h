// The naive twins of operators that keep the elements, in another order, in part or repeatedly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "recordpipe/base/internal/permutation.h"
#include "tests/pipeline/naive/elements.h"

namespace recordpipe::naive {

template <class T>
class OrderOperators {
 public:
  Pipeline<T> shuffle(size_t buffer_size, uint64_t seed) const {
    const uint64_t key = order_key(seed);
    return self(this).template derived<T>(
        [=](Elements<T> in, const At& at) {
          Elements<T> out{.error = in.error};
          std::vector<Item<T>> buffer;
          size_t next = 0;
          while (next < in.items.size() && buffer.size() < buffer_size) {
            buffer.push_back(in.items[next++]);
          }
          for (uint64_t k = 0; !buffer.empty(); ++k) {
            // Each output element waits for one input element.
            if (next == in.items.size() && !in.error.empty()) break;
            const uint32_t drawn =
                Random(key, at.order, k).below(static_cast<uint32_t>(buffer.size()));
            out.items.push_back(buffer[drawn]);
            if (next < in.items.size()) {
              buffer[drawn] = in.items[next++];
            } else {
              buffer[drawn] = buffer.back();
              buffer.pop_back();
            }
          }
          return out;
        },
        1);
  }

  Pipeline<T> shard(size_t num_shards, size_t index, bool drop_remainder = false) const {
    return self(this).template derived<T>([=](Elements<T> in, const At& at) {
      Elements<T> out{.error = in.error};
      const size_t whole = in.items.size() / num_shards * num_shards;
      for (size_t i = 0; i < in.items.size(); ++i) {
        const bool is_own = i % num_shards == index && (!drop_remainder || i < whole);
        if (is_own || must_be_yielded(in.items[i], at)) out.items.push_back(in.items[i]);
      }
      return out;
    });
  }

  // The input has random access, so its pass has no error at the end.
  Pipeline<T> global_shuffle(uint64_t seed) const {
    const uint64_t key = order_key(seed);
    return self(this).template derived<T>(
        [=](const Elements<T>& in, const At& at) {
          const Permutation order(in.items.size(), derive_key(key, at.order));
          Elements<T> out;
          for (size_t i = 0; i < in.items.size(); ++i) out.items.push_back(in.items[order(i)]);
          return out;
        },
        1);
  }

  Pipeline<T> repeat(uint64_t count) const {
    return Pipeline<T>(
        [=, pass = self(this).pass()](const At& at) {
          Elements<T> out;
          for (uint64_t i = 0; i < count && out.error.empty(); ++i) {
            out.append(pass({nested_epoch(at, i), at.errors_are_skipped}));
          }
          return out;
        },
        self(this).random_operators());
  }

  Pipeline<T> take(size_t count) const {
    return self(this).template derived<T>([=](Elements<T> in, const At&) {
      if (count <= in.items.size()) in.error.clear();
      in.items.resize(std::min(in.items.size(), count));
      return in;
    });
  }

  Pipeline<T> skip(size_t count) const {
    return self(this).template derived<T>([=](Elements<T> in, const At& at) {
      Elements<T> out{.error = in.error};
      for (size_t i = 0; i < in.items.size(); ++i) {
        if (i >= count || must_be_yielded(in.items[i], at)) out.items.push_back(in.items[i]);
      }
      return out;
    });
  }

  Pipeline<T> cache() const {
    return Pipeline<T>(
        [pass = self(this).pass()](const At& at) {
          Elements<T> elements = pass({0, at.errors_are_skipped});
          for (Item<T>& item : elements.items) {
            item.id.epoch = nested_epoch(at.ids, item.id.epoch);
          }
          return elements;
        },
        self(this).random_operators());
  }
};

}  // namespace recordpipe::naive
