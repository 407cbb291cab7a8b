// The options that select records and features: --where, --limit, --feature.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/toolkit/record_filter.h"
#include "recordpipe/toolkit/where.h"
#include "tools/tfrecord/command_line/cli_forward.h"

namespace recordpipe {

// Adds --where; `expression` stays empty where it isn't given, for all records.
void add_where(CLI::App& app, std::string& expression);
// The expression of --where, for all records nothing. Throws what Where's constructor throws.
std::optional<Where> where_of(const std::string& expression);

// Adds --limit; nothing, if it isn't given: all.
void add_limit(CLI::App& app, std::optional<uint64_t>& limit);

struct FilterArguments {
  std::string where = {};
  std::optional<uint64_t> limit = {};
};
// Adds --where and --limit.
void add_filter(CLI::App& app, FilterArguments& arguments);
RecordFilter filter_of(const FilterArguments& arguments);

// Adds --feature, and --select as another name of it.
void add_features(CLI::App& app, std::vector<std::string>& names, const std::string& description);

}  // namespace recordpipe
