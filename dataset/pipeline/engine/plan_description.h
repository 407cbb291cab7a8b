// A description of a pipeline's operators: for explain(), and to tell whether a saved state belongs
// to this pipeline.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/parameter.h"

namespace recordpipe {

class FileSystem;

namespace internal {

struct PlanParameter : Parameter {
  using Parameter::Parameter;
  explicit PlanParameter(Parameter parameter) : Parameter(std::move(parameter)) {}

  // A parameter that affects how the plan is executed or by which worker, but not its complete
  // output.
  PlanParameter&& free() && {
    is_free = true;
    return std::move(*this);
  }

  bool is_free = false;
};

struct SourceFile {
  FileSystem* file_system = nullptr;
  std::string path;
};

// An operator and its inputs.
struct PlanDescription {
  std::string name;
  std::vector<PlanParameter> parameters = {};
  std::vector<PlanDescription> inputs = {};
  // Affects how the plan is executed, but not its output.
  bool is_free = false;
  // One output element per input element, planned by the input (map).
  bool is_element_wise = false;
  // The number of workers that share the input's elements; 0 for all operators but shard.
  uint64_t num_shards = 0;
  // The files that a source reads.
  FileSystem* file_system = nullptr;
  std::vector<std::string> files = {};

  // One line per operator, in the order the elements take: "shuffle(buffer_size=16384, seed=7)". If
  // an operator has several inputs, these are indented.
  std::string text(bool with_free = true) const;

  // Equal for plans with the same operators, parameters and inputs; free parameters and files are
  // not included. Functions can't be compared, except for the parameters of those that have some
  // (HasParameters).
  uint64_t hash() const;

  // The files of all its sources.
  std::vector<SourceFile> source_files() const;

  void add(std::vector<Parameter> given) {
    for (Parameter& parameter : given) parameters.emplace_back(std::move(parameter));
  }

  // Marks as free the parameters of the shards that elements come from, directly or through
  // element-wise operators. Returns the number of elements of all workers for each element of this
  // worker: for an operator (batch) that counts the elements of all workers.
  uint64_t free_shards();
};

}  // namespace internal
}  // namespace recordpipe
