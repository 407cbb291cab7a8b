// Opens a subcommand's input files, and adds the options for reading them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/toolkit/files/file_work.h"
#include "dataset/toolkit/files/many_files.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record_reader.h"
#include "tools/support/command_line/argument_parser.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/file_arguments.h"
#include "tools/tfrecord/io/input_progress.h"

namespace recordpipe {

struct InputArguments {
  FileArguments files = FileArguments();
  RecordReadOptions reading = {};
};

// Adds FILE... and its options, --input-compression, --no-crc and --max-record-size. `arguments`
// must live until the command line has been parsed.
void add_inputs(CommandApp& app, InputArguments& arguments);
// Adds FILE... and its options (file_arguments.h) only.
void add_files(CommandApp& app, FileArguments& files);
// Adds --input-compression and --max-record-size, for commands that identify records by their CRCs.
void add_format_options(ArgumentParser& app, RecordReadOptions& reading);
// Adds --input-compression, --max-record-size and --no-crc.
void add_reading_options(ArgumentParser& app, RecordReadOptions& reading);

bool is_standard_input(std::string_view path);

// Returns true for standard input, a FIFO or another device.
bool is_read_once(FileSystem& files, const std::string& path);
// Throws UsageError if an input can be read only once; `instead` names the alternatives.
void require_readable_twice(FileSystem& files, const std::vector<std::string>& paths,
                            const std::string& instead);

// The environment in which the library works on inputs. `context` must outlive it.
FileWork work_of(const CommandContext& context);
// The same; reports to `progress`, which must outlive it.
FileWork work_of(const CommandContext& context, InputProgress& progress);
// The same; prints the notes of the operation as those of `command`.
FileWork work_of(const CommandContext& context, InputProgress& progress,
                 const std::string& command);
// Prints a note of a command, unless it is empty.
void print_note(const CommandContext& context, const std::string& command, const std::string& what);

// Opens any input as a stream. After a stop request, reads throw Error{cancelled}, also while they
// wait for a silent pipe.
std::unique_ptr<ByteSource> open_input(const CommandContext& context, const std::string& path);

// Calls `action` for each path, one after the other, and returns the highest exit code. If `action`
// throws an Error, prints it, and `code_of` maps its kind to the exit code of the path; rethrows
// Error{cancelled}.
ExitCode for_each_input(
    const CommandContext& context, std::string_view command, const std::vector<std::string>& paths,
    const std::function<ExitCode(const std::string& path)>& action,
    const std::function<ExitCode(ErrorKind)>& code_of = [](ErrorKind) {
      return ExitCode::trouble;
    });

// Reports what was found in an input, and returns its exit code.
using InputReport = std::function<ExitCode()>;
// The same, except that several paths are worked on at a time (many_files.h): action(share) runs on
// any thread; what it returns or throws is reported on the calling thread, in the order of the
// paths. 0 threads: available_cpus(). `turn_of`: whether a file keeps all threads busy.
ExitCode for_each_input_at_once(
    const CommandContext& context, std::string_view command, const std::vector<std::string>& paths,
    size_t threads, const std::function<InputReport(const FileShare& share)>& action,
    const std::function<ExitCode(ErrorKind)>& code_of = [](ErrorKind) { return ExitCode::trouble; },
    TurnOf* turn_of = turn_of_content);

}  // namespace recordpipe
