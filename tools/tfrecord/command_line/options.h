// Options shared by several commands, and checks of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/io/compression.h"
#include "recordpipe/toolkit/pixel_guess.h"
#include "recordpipe/toolkit/where.h"
#include "tools/support/command_line/argument_parser.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

// Checks. A number in [least, most]; NaN is in no range.
Option::Check number_between(double least, double most);
// An integer in [least, most]. (Without a check, a negative one would wrap around to a
// large one.)
Option::Check whole_number(uint64_t least = 0, uint64_t most = UINT64_MAX);
// Converts 100MB (1000 * 1000), 1GiB (1024^3) or 4096 to bytes. (The message of size_to_bytes()
// lists every unit.)
Option::Transform byte_size();

// Adds --where; `expression` stays empty if it isn't given: all records.
void add_where(ArgumentParser& app, std::string& expression);
// The where language, for the description of a command; "comparisons (== ...".
std::string where_description();
// The expression of --where; empty for all records. Throws the errors of Where's constructor.
std::optional<Where> where_of(const std::string& expression);

// Adds --limit; empty if it isn't given: no limit.
void add_limit(ArgumentParser& app, std::optional<uint64_t>& limit);

// Adds --kind; empty if it isn't given: MessageView finds out the type of each record.
void add_kind(ArgumentParser& app, std::optional<MessageKind>& kind);

struct FilterArguments {
  std::optional<MessageKind> kind = {};
  std::string where = {};
  std::optional<uint64_t> limit = {};
};
// Adds --kind, --where and --limit.
void add_filter(ArgumentParser& app, FilterArguments& arguments);
RecordFilter filter_of(const FilterArguments& arguments);

struct TableArguments {
  std::string format = {};
  bool json = false;
};
enum class TableFormat { table, json, csv };
// Adds --format table|json|csv, and --json with this description.
void add_table_format(ArgumentParser& app, TableArguments& arguments, const std::string& json);
// Throws UsageError if --json and --format contradict each other.
TableFormat table_format(const TableArguments& arguments);
// The format of the result, for add_output().
std::function<std::string_view()> format_of(const TableArguments& arguments);

// Adds --feature, and --select as an alias.
void add_features(ArgumentParser& app, std::vector<std::string>& names,
                  const std::string& description);

// Names by names, of an option with values NAME=NAME.
using NamePairs = std::map<std::string, std::string, std::less<>>;

// Adds --rename.
void add_rename(ArgumentParser& app, std::vector<std::string>& renames);
// The new names by the old ones. Throws UsageError.
NamePairs renames_of(const std::vector<std::string>& renames);
// Adds --members.
void add_members(ArgumentParser& app, std::vector<std::string>& members);
// The features of WebDataset's members, by their extensions. Throws UsageError.
NamePairs members_of(const std::vector<std::string>& members);

// --shape: "28x28" or "32x32x3". Throws UsageError for any other text, and above 65535 x 65535 x 4.
PixelShape parse_pixel_shape(std::string_view text);

struct PixelArguments {
  std::string shape = {};
  std::string layout = {};
};
// Adds --shape and --layout.
void add_pixel_options(ArgumentParser& app, PixelArguments& arguments);
// Throws UsageError like parse_pixel_shape().
PixelOptions pixel_options(const PixelArguments& arguments);

// Adds --delimiter: the single character that separates the cells of CSV; empty if it isn't given.
void add_delimiter(ArgumentParser& app, std::string& delimiter);
// The delimiter of CSV, or of "tsv". Throws UsageError for --delimiter with another `format`.
char delimiter_of(const std::string& delimiter, const std::string& format);

// Adds --compression; empty if it isn't given.
void add_compression(ArgumentParser& app, std::optional<Compression>& compression);

// Adds --threads; the default, 0, means available_cpus().
void add_threads(ArgumentParser& app, size_t& threads);

}  // namespace recordpipe
