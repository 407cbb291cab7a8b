// Makes random pipelines of operators, and their twins.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataset/pipeline/plan/node.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_generator.h"
#include "recordpipe/pipeline/from_vector.h"
#include "tests/pipeline/naive/pipeline.h"
#include "tests/pipeline/operators.h"
#include "tests/pipeline/value.h"

namespace recordpipe {

// A random source, whose last element is numbered below `most`.
inline Twins draw_source(Random& random, uint32_t most) {
  const std::vector<Value> values = number_values(random.below(most));
  // One source in ten ends with an error.
  const std::string error = random.below(10) == 0 ? "the source failed" : "";
  Twins source{from_vector(values), naive::from_vector(values, error)};
  if (error.empty() && random.below(4) > 0) return source;
  source.dataset = from_generator([size = values.size(), error] {
    return [=, next = uint32_t{0}]() mutable -> std::optional<Value> {
      if (next < size) return number_value(next++);
      if (error.empty()) return std::nullopt;
      throw std::runtime_error(error);
    };
  });
  return source;
}

inline size_t count_numbers(const Value& value) {
  size_t count = 1;
  for (const Value& item : value.items) count += count_numbers(item);
  return count;
}

// Whether a pass is short enough for a test.
inline bool is_short(const naive::Pipeline<Value>& twin) {
  size_t numbers = 0;
  for (const auto& item : twin.pass(0).items) numbers += count_numbers(item.value);
  return numbers <= 3000;
}

// Draws a source and up to `most` operators. Cache files are written to `directory`.
inline Twins draw_chain(Random& random, uint32_t most, const std::string& directory,
                        int depth = 0) {
  static const std::vector<TestedOperator> operators = tested_operators();
  Twins chain = draw_source(random, depth == 0 ? 300 : 120);
  for (uint32_t length = random.below(most + 1); length > 0; --length) {
    const TestedOperator& op = operators[random.below(static_cast<uint32_t>(operators.size()))];
    const Arguments arguments = Arguments::draw(random, directory);
    const bool has_random_access =
        internal::DatasetNode::of(chain.dataset)->sequential_operator().empty();
    if (op.access == RandomAccess::required && !has_random_access) continue;
    const Twins second =
        op.is_combining ? draw_chain(random, depth < 2 ? 3 : 0, directory, depth + 1) : chain;
    Twins longer = op.apply(chain, second, arguments);
    if (!is_short(longer.twin)) continue;
    chain = std::move(longer);
    // Adds delays, so that threads and look-ahead interleave differently in each run.
    if (random.below(12) == 0) {
      chain.dataset = chain.dataset.map([](Value v) {
        if (digest(v) % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(30));
        return v;
      });
    }
  }
  return chain;
}

}  // namespace recordpipe
