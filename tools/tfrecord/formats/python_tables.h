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

// Writes the tables, and prints the summary. Throws what Python's function raises, and
// Error{unsupported} without the package or pyarrow.
ExitCode export_tables(const CommandContext& context, const FilesAndFolders& inputs,
                       const TableExport& tables);

}  // namespace recordpipe
