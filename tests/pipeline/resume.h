// Tests whether a pipeline resumes where it was saved.
#pragma once

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/pipeline/dataset.h"
#include "tests/pipeline/collect.h"

namespace recordpipe {

// Returns the remaining elements.
template <class T>
std::vector<T> rest_of(Iterator<T>& iterator) {
  std::vector<T> out;
  while (T* element = iterator.next()) out.push_back(*element);
  return out;
}

// Saves after every `step` elements, restores into fresh iterators of the datasets in `others` in
// turn, and compares all following elements.
template <class T>
void expect_resumes_anywhere(const Dataset<T>& dataset, const std::vector<Dataset<T>>& others,
                             size_t step = 1) {
  const std::vector<T> expected = collect(dataset);
  Iterator<T> saving = dataset.iterate();
  for (size_t at = 0; at <= expected.size(); ++at) {
    if (at > 0) {
      ASSERT_NE(saving.next(), nullptr);
    }
    if (at % step != 0 && at != expected.size()) continue;
    Iterator<T> restored = others[at / step % others.size()].iterate();
    restored.restore(saving.state());
    const std::vector<T> rest(expected.begin() + static_cast<std::ptrdiff_t>(at), expected.end());
    ASSERT_EQ(restored.position(), at);
    ASSERT_TRUE(rest_of(restored) == rest) << "saved after " << at << " of " << expected.size();
  }
  EXPECT_EQ(saving.next(), nullptr);
  Iterator<T> exhausted = others[0].iterate();
  exhausted.restore(saving.state());
  EXPECT_EQ(exhausted.next(), nullptr);
}

template <class T>
std::vector<Dataset<T>> on_any_machine(const Dataset<T>& dataset) {
  return {dataset.with_options({.threads = 1}),
          dataset.with_options({.threads = 2, .chunk_size = 7}),
          dataset.with_options({.threads = 3, .chunk_size = 1}),
          dataset.with_options({.threads = 8, .chunk_size = 1000})};
}

}  // namespace recordpipe
