// Parquet and Arrow files, which the Python package recordpipe reads and writes through pyarrow:
// Debian has no Arrow for C++. It runs as `python3 -P -m recordpipe`; $RECORDPIPE_PYTHON names
// another interpreter, as the program of a wheel does.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "dataset/toolkit/jobs/shard_job.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/file_arguments.h"

namespace recordpipe {

inline bool is_table_format(std::string_view format) {
  return format == "parquet" || format == "arrow";
}
// "parquet" or "arrow", by the end of the name; "" for other names.
std::string table_format_of(std::string_view path);

// What `export` writes to a table, or to a folder of tables.
struct TableExport {
  std::string format = {};
  std::string output = {};  // of one table
  ShardJob job = {};        // else its folder, resume and keep_going
  // Of convert() in Python, except for the sources and the target.
  nlohmann::ordered_json options = {};
  bool skip_corrupt = false;
  bool json = false;
};

// Both throw what Python's function raises, and Error{unsupported} without the package or pyarrow.

// Writes the tables, and prints the summary.
ExitCode export_tables(const CommandContext& context, const FilesAndFolders& inputs,
                       TableExport tables);
// Calls convert_to_dir() with these options, and prints the reports of `command`. Of the job, its
// folder, resume and keep_going.
ExitCode convert_to_folder(const CommandContext& context, const std::string& command,
                           const FilesAndFolders& inputs, const ShardJob& job,
                           nlohmann::ordered_json options, bool json);

}  // namespace recordpipe
