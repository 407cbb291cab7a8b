// The files a subcommand reads, and the options that say how.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
// the command line was parsed.
void add_inputs(CommandApp& app, InputArguments& arguments);
// Adds FILE... alone.
void add_files(CommandApp& app, std::vector<std::string>& files);
// Adds --input-compression and --max-record-size, for those whom CRCs tell what a record is.
void add_format_options(CLI::App& app, RecordReadOptions& reading);
// Adds the same and --no-crc.
void add_reading_options(CLI::App& app, RecordReadOptions& reading);

bool is_standard_input(std::string_view path);

// The inputs one by one, in the order given: patterns become the paths they match, sorted, without
// the index FILE.idx of a FILE that matches, too. Throws Error{not_found} where a pattern matches
// nothing, and UsageError where standard input is named twice.
std::vector<std::string> expand_inputs(FileSystem& files, const std::vector<std::string>& given);

// Standard input, a FIFO or the like.
bool is_read_once(FileSystem& files, const std::string& path);
// Throws UsageError where an input is one; `instead` says what can be done with it.
void require_readable_twice(FileSystem& files, const std::vector<std::string>& paths,
                            const std::string& instead);

// Any of them as a stream. Once a stop was requested its reads throw Error{cancelled}, also one
// that waits for a silent pipe.
std::unique_ptr<ByteSource> open_input(const CommandContext& context, const std::string& path);
// The bytes that are read count in `progress`.
RecordReader open_records(const CommandContext& context, const std::string& path,
                          const RecordReadOptions& reading, InputProgress& progress);

// A regular file, or a URL whose server sends parts. Null for what can only be read as a stream.
std::unique_ptr<RandomAccessFile> open_random_input(FileSystem& files, const std::string& path);

// Whether it is a plain file on this machine.
bool can_be_mapped(FileSystem& files, const std::string& path, const RecordReadOptions& reading);

// How it is compressed, by its first bytes.
Compression compression_of(const RandomAccessFile& file, const RecordReadOptions& reading);

// Whether a regular file PATH.idx is there and fits `file`, as far as a few headers tell.
bool index_fits(FileSystem& files, const std::string& path, const RandomAccessFile& file);

// Calls `action` for each path and returns the highest exit code. An Error of one is printed and
// counts as what `code_of` makes of its kind; Error{cancelled} ends it all.
ExitCode for_each_input(
    const CommandContext& context, std::string_view command, const std::vector<std::string>& paths,
    const std::function<ExitCode(const std::string& path)>& action,
    const std::function<ExitCode(ErrorKind)>& code_of = [](ErrorKind) {
      return ExitCode::trouble;
    });

}  // namespace recordpipe
