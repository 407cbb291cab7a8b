// Describes a pipeline's operators, for explain() and to check whether a saved state belongs to the
// pipeline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/base/parameter.h"

namespace recordpipe {

class FileSystem;

namespace internal {

struct PlanParameter : Parameter {
  using Parameter::Parameter;
  explicit PlanParameter(Parameter parameter) : Parameter(std::move(parameter)) {}

  // Marks a parameter that affects how, or by which worker, the plan is executed, but not its
  // complete output.
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
  // The operator affects how the plan is executed, but not its output.
  bool is_free = false;
  // The operator yields one output element per input element and uses the input's plan (map).
  bool is_element_wise = false;
  // The number of workers that share the input's elements; 0 for all operators but shard.
  uint64_t num_shards = 0;
  // Of shard and batch: whether an incomplete group is left out. A shard's elements then depend on
  // the number of workers.
  std::optional<bool> drops_remainder = std::nullopt;
  // The files that a source reads.
  FileSystem* file_system = nullptr;
  std::vector<std::string> files = {};

  // What a text contains. Parameters of Kind::not_compared and Kind::called are in none.
  enum class Detail {
    explained,             // all operators and parameters, but not the code of functions
    compared,              // without free operators and parameters; with the code of functions
    compared_except_code,  // like compared, without the code
  };
  // One line per operator, in the order in which elements pass them:
  // "shuffle(buffer_size=16384, seed=7)". If an operator has several inputs, the inputs are
  // indented.
  std::string text(Detail detail) const;

  // How a profile names the operator: "shuffle", "map(decode)".
  std::string stage_name() const;

  // The hash of a text. Equal for plans with the same operators, parameters and inputs; files are
  // not included. Of functions, the parameters that they report are included (HasParameters).
  uint64_t hash(Detail detail = Detail::compared) const { return hash(text(detail)); }
  static uint64_t hash(std::string_view text);

  // The values of all parameters of Kind::not_compared: "map: model (Net)".
  std::vector<std::string> not_compared() const;

  // The files of all sources.
  std::vector<SourceFile> source_files() const;

  void add(std::vector<Parameter> given) {
    for (Parameter& parameter : given) parameters.emplace_back(std::move(parameter));
  }
  PlanDescription&& with(std::vector<Parameter> given) && {
    add(std::move(given));
    return std::move(*this);
  }

  // Marks the parameters of shard operators as free if only shards and element-wise operators come
  // after them. Returns the number of workers that share the elements (the product of num_shards),
  // for an operator (batch) that counts the elements of all workers.
  uint64_t free_shards();

  // Undoes this for all inputs, for an operator (shuffle) whose order depends on their number of
  // elements: workers may have different numbers, unless each shard and batch drops the remainder.
  void bind_shards(bool all_drop_remainders = true);

  // Marks the shard operators that come last as free (only element-wise and free operators may come
  // after them; those with drops_remainder are part of the plan): a state counts the elements of
  // all workers, so that another number of workers, or a pipeline without these shards, can restore
  // it. Returns their num_shards, the last operator's first.
  std::vector<uint64_t> free_last_shards();
};

}  // namespace internal
}  // namespace recordpipe
