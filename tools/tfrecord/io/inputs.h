// Expands and opens a subcommand's input files, and adds the options for reading them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/applications/command_line/argument_parser.h"
#include "dataset/toolkit/files/file_work.h"
#include "recordpipe/compression.h"
#include "recordpipe/file.h"
#include "recordpipe/record_reader.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/input_progress.h"

namespace recordpipe {

struct InputArguments {
  std::vector<std::string> files = {};  // paths, patterns, URLs, "-"
  RecordReadOptions reading = {};
};

// Adds FILE..., --input-compression, --no-crc and --max-record-size. `arguments` must live until
// the command line has been parsed.
void add_inputs(CommandApp& app, InputArguments& arguments);
// Adds FILE... only.
void add_files(CommandApp& app, std::vector<std::string>& files);
// Adds --input-compression and --max-record-size, for commands that identify records by their CRCs.
void add_format_options(ArgumentParser& app, RecordReadOptions& reading);
// Adds --input-compression, --max-record-size and --no-crc.
void add_reading_options(ArgumentParser& app, RecordReadOptions& reading);

bool is_standard_input(std::string_view path);

// Returns the inputs one by one, in the given order. Replaces each pattern by the matching paths,
// sorted; leaves out an index FILE.idx if FILE matches as well. Throws Error{not_found} for a
// pattern without a match, and UsageError if standard input is named twice.
std::vector<std::string> expand_inputs(FileSystem& files, const std::vector<std::string>& given);

// Returns true for standard input, a FIFO or another device.
bool is_read_once(FileSystem& files, const std::string& path);
// Throws UsageError if an input can be read only once; `instead` names the alternatives.
void require_readable_twice(FileSystem& files, const std::vector<std::string>& paths,
                            const std::string& instead);

// The environment in which the library works on inputs. `context` must outlive it.
FileWork work_of(const CommandContext& context);
// The same; reports to `progress`, which must outlive it.
FileWork work_of(const CommandContext& context, InputProgress& progress);

// Opens any input as a stream. After a stop request, reads throw Error{cancelled}, also while they
// wait for a silent pipe.
std::unique_ptr<ByteSource> open_input(const CommandContext& context, const std::string& path);
// Opens an input as records, and reports the bytes read to `progress`.
RecordReader open_records(const CommandContext& context, const std::string& path,
                          const RecordReadOptions& reading, InputProgress& progress);

// Calls `action` for each path and returns the highest exit code. If `action` throws an Error,
// prints it, and `code_of` maps its kind to the exit code of the path; rethrows Error{cancelled}.
ExitCode for_each_input(
    const CommandContext& context, std::string_view command, const std::vector<std::string>& paths,
    const std::function<ExitCode(const std::string& path)>& action,
    const std::function<ExitCode(ErrorKind)>& code_of = [](ErrorKind) {
      return ExitCode::trouble;
    });

}  // namespace recordpipe
