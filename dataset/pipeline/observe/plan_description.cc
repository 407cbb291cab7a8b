// Converts plans to text, and hashes the text.
#include "dataset/pipeline/observe/plan_description.h"

namespace recordpipe::internal {
namespace {

using Detail = PlanDescription::Detail;

bool contains(Detail detail, const PlanParameter& parameter) {
  if (parameter.kind == Parameter::Kind::code) return detail == Detail::compared;
  if (parameter.kind != Parameter::Kind::value) return false;
  return !parameter.is_free || detail == Detail::explained;
}

void append_operator(const PlanDescription& plan, Detail detail, std::string& out) {
  out.append(plan.name).append("(");
  bool first = true;
  for (const PlanParameter& parameter : plan.parameters) {
    if (!contains(detail, parameter)) continue;
    if (!first) out.append(", ");
    first = false;
    out.append(parameter.name).append("=").append(parameter.value);
  }
  out.append(")\n");
}

void append_text(const PlanDescription& plan, size_t indent, Detail detail, std::string& out) {
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    // Chained operators have the same indentation; only the inputs of zip, concatenate and the like
    // are indented.
    append_text(plan.inputs[i], indent + (plan.inputs.size() > 1 ? 2 : 0), detail, out);
  }
  if (plan.is_free && detail != Detail::explained) return;
  out.append(indent, ' ');
  append_operator(plan, detail, out);
}

void set_shards_free(PlanDescription& plan, bool is_free) {
  for (PlanParameter& parameter : plan.parameters) {
    if (parameter.name == "num_shards" || parameter.name == "index") parameter.is_free = is_free;
  }
}

void append_not_compared(const PlanDescription& plan, std::vector<std::string>& out) {
  for (const PlanDescription& input : plan.inputs) append_not_compared(input, out);
  for (const PlanParameter& parameter : plan.parameters) {
    if (parameter.kind != Parameter::Kind::not_compared) continue;
    out.push_back(plan.name + ": " + parameter.value);
  }
}

void append_files(const PlanDescription& plan, std::vector<SourceFile>& out) {
  for (const PlanDescription& input : plan.inputs) append_files(input, out);
  for (const std::string& file : plan.files) out.push_back({plan.file_system, file});
}

}  // namespace

std::vector<SourceFile> PlanDescription::source_files() const {
  std::vector<SourceFile> all;
  append_files(*this, all);
  return all;
}

std::vector<std::string> PlanDescription::not_compared() const {
  std::vector<std::string> out;
  append_not_compared(*this, out);
  return out;
}

std::string PlanDescription::text(Detail detail) const {
  std::string out;
  append_text(*this, 0, detail, out);
  return out;
}

std::string PlanDescription::stage_name() const {
  for (const PlanParameter& parameter : parameters) {
    if (parameter.kind == Parameter::Kind::called) return name + "(" + parameter.value + ")";
  }
  return name;
}

uint64_t PlanDescription::hash(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return hash;
}

uint64_t PlanDescription::free_shards() {
  uint64_t workers = 1;
  for (PlanDescription* plan = this; plan->is_element_wise || plan->num_shards > 0;
       plan = &plan->inputs[0]) {
    if (plan->num_shards == 0) continue;
    workers *= plan->num_shards;
    set_shards_free(*plan, true);
  }
  return workers;
}

void PlanDescription::bind_shards(bool all_drop_remainders) {
  for (PlanDescription& input : inputs) {
    const bool all_drop = all_drop_remainders && input.drops_remainder.value_or(true);
    if (input.num_shards > 0 && !all_drop) set_shards_free(input, false);
    input.bind_shards(all_drop);
  }
}

std::vector<uint64_t> PlanDescription::free_last_shards() {
  constexpr uint64_t kMaxWorkers = uint64_t{1} << 32;
  std::vector<uint64_t> shards;
  uint64_t workers = 1;
  for (PlanDescription* plan = this;; plan = &plan->inputs[0]) {
    if (plan->num_shards > 0 && plan->drops_remainder == false) {
      workers *= plan->num_shards;
      if (workers > kMaxWorkers) return shards;
      shards.push_back(plan->num_shards);
      plan->is_free = true;
    } else if (!plan->is_element_wise && !plan->is_free) {
      return shards;
    }
  }
}

}  // namespace recordpipe::internal
