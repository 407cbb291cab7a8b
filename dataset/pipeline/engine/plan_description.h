// What a pipeline does, operator by operator: for explain(), and to tell whether a saved state is
// one of this pipeline.
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

  // One that changes how or by whom the plan is carried out, but not what the whole of it yields.
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

// An operator and those it takes its elements from.
struct PlanDescription {
  std::string name;
  std::vector<PlanParameter> parameters = {};
  std::vector<PlanDescription> inputs = {};
  // Changes how the plan is carried out, but not what it yields.
  bool is_free = false;
  // An element for each of its input's, planned by the input (map).
  bool is_element_wise = false;
  // Into how many its input's elements are divided; 0 for all but shard.
  uint64_t num_shards = 0;
  // That a source reads.
  FileSystem* file_system = nullptr;
  std::vector<std::string> files = {};

  // One line an operator, in the order the elements take: "shuffle(buffer_size=16384, seed=7)".
  // The inputs of an operator that has several are indented.
  std::string text(bool with_free = true) const;

  // The same for plans of the same operators, parameters and inputs, free ones and files left out.
  // What functions do is not seen, but for the parameters of those that have some (HasParameters).
  uint64_t hash() const;

  // The files of all its sources.
  std::vector<SourceFile> source_files() const;

  void add(std::vector<Parameter> given) {
    for (Parameter& parameter : given) parameters.emplace_back(std::move(parameter));
  }

  // Makes it free which shards elements come from, directly or through element-wise operators, and
  // returns how many of all workers' elements there are for each of this one's: for an operator
  // (batch) that counts in the elements of all.
  uint64_t free_shards();
};

}  // namespace internal
}  // namespace recordpipe
