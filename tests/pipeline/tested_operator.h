// An operator beside its naive twin, with random arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <utility>

#include "recordpipe/base/philox.h"
#include "recordpipe/pipeline/choose_from_datasets.h"
#include "recordpipe/pipeline/dataset.h"
#include "tests/pipeline/naive/pipeline.h"
#include "tests/pipeline/value.h"

namespace recordpipe {

// A pipeline and its twin.
struct Twins {
  Dataset<Value> dataset;
  naive::Pipeline<Value> twin;
};

// Random; operators compute theirs from these.
struct Arguments {
  uint32_t n;  // 1 to 90
  bool flag;
  uint64_t seed;
  std::string path;  // of no file yet

  static Arguments draw(Random& random, const std::string& directory) {
    return {.n = random.below(90) + 1,
            .flag = random.below(2) == 0,
            .seed = random(),
            .path = directory + "/" + std::to_string(random())};
  }
  DropRemainder drop() const { return flag ? DropRemainder::yes : DropRemainder::no; }
  StopOnEmptyDataset stop() const {
    return flag ? StopOnEmptyDataset::yes : StopOnEmptyDataset::no;
  }
};

enum class RandomAccess { none, kept, required };

struct TestedOperator {
  std::string name;
  std::function<Twins(const Twins&, const Twins&, const Arguments&)> apply;
  RandomAccess access = RandomAccess::none;
  bool is_combining = false;  // else ignores the second input

  friend void PrintTo(const TestedOperator& op, std::ostream* out) { *out << op.name; }
};

// Of one input: dataset(Dataset<Value>, Arguments), twin(naive::Pipeline<Value>, Arguments).
template <class F, class G>
TestedOperator tested(std::string name, F dataset, G twin,
                      RandomAccess access = RandomAccess::none) {
  return {std::move(name),
          [=](const Twins& in, const Twins&, const Arguments& a) {
            return Twins{dataset(in.dataset, a), twin(in.twin, a)};
          },
          access};
}

// The call is the same for both.
template <class F>
TestedOperator same(std::string name, F call, RandomAccess access = RandomAccess::none) {
  return tested(std::move(name), call, call, access);
}

// Of two inputs.
template <class F, class G>
TestedOperator combining(std::string name, F dataset, G twin,
                         RandomAccess access = RandomAccess::none) {
  return {
      std::move(name),
      [=](const Twins& first, const Twins& second, const Arguments& a) {
        return Twins{dataset(first.dataset, second.dataset, a), twin(first.twin, second.twin, a)};
      },
      access, /*is_combining=*/true};
}

}  // namespace recordpipe
