// tfrecord index: writes and checks index files.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/toolkit/files/scan_file.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/record/record_index.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/io/standard_streams.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

struct IndexArguments {
  FileArguments files = FileArguments();
  std::string index = {};  // empty: FILE.idx
  size_t threads = 0;
  bool check = false;
  bool json = false;
};

std::string index_of(const IndexArguments& arguments, const std::string& path) {
  return arguments.index.empty() ? record_index_path(path) : arguments.index;
}

// Returns the paths of the indexes that will be written.
std::vector<std::string> indexes_of(const IndexArguments& arguments,
                                    const CommandContext& context) {
  std::vector<std::string> indexes;
  if (arguments.check) return indexes;
  for (const std::string& path : arguments.files.paths(context)) {
    indexes.push_back(index_of(arguments, path));
  }
  return indexes;
}

constexpr char kDecompress[] = "decompress it with tfrecord convert --compression none";

uint64_t write_index(const IndexArguments& arguments, const CommandContext& context,
                     const std::string& path, const FileShare& share, InputProgress& progress) {
  const std::string index = index_of(arguments, path);
  Output out = arguments.index.empty() ? Output::unnamed_file(context, index, Durability::cached)
                                       : Output(context, index, Durability::cached);
  const uint64_t records = write_index(work_of(context, progress), path, share.threads, kDecompress,
                                       out, share.turn.status);
  context.progress.clear();
  out.close();
  return records;
}

uint64_t check_index(const IndexArguments& arguments, const CommandContext& context,
                     const std::string& path) {
  const std::string index_path = index_of(arguments, path);
  // Opening a FIFO that the user didn't name would block.
  if (arguments.index.empty() && !is_url(path)) require_replaceable(context.files, index_path);
  require_plain(path, detect_compression(context.files, path), kDecompress);
  RecordIndexReader index(open_input(context, index_path));
  const auto file = context.files.open_random(path);
  // Checking all headers would take an HTTP request for each record.
  const bool distant = is_url(path);
  return check_record_index(index, *file, distant ? IndexedHeaders::some : IndexedHeaders::all);
}

InputReport index_file(const IndexArguments& arguments, const CommandContext& context,
                       const std::string& path, const FileShare& share, InputProgress& progress) {
  const std::string index = index_of(arguments, path);
  const uint64_t records = arguments.check ? check_index(arguments, context, path)
                                           : write_index(arguments, context, path, share, progress);
  return [&arguments, &context, path, index, records] {
    context.progress.clear();
    if (arguments.json) {
      print_json_summary(context, {{"path", without_secrets(path)},
                                   {"index", without_secrets(index)},
                                   {"records", records}});
    } else if (arguments.check) {
      print_line(fmt::format("{}: matches {}, {}", shown_path(index), shown_path(path),
                             counted(records, "record")));
    } else if (index != "-") {
      print_summary(context, shown_path(index) + ": " + counted(records, "record"));
    }
    return ExitCode::ok;
  };
}

ExitCode write_indexes(const IndexArguments& arguments, const CommandContext& context) {
  const auto paths = arguments.files.paths(context);
  if (!arguments.index.empty() && paths.size() != 1) {
    throw UsageError("-o is for one file, and there are " + std::to_string(paths.size()));
  }
  if (!arguments.check) check_json_summary(arguments.json, arguments.index);
  for (const std::string& path : paths) {
    if (arguments.check && is_standard_input(path)) {
      throw UsageError("--check needs random access, which standard input does not support");
    }
    const bool has_no_folder = is_standard_input(path) || is_http_url(path);
    if (arguments.index.empty() && !arguments.check && has_no_folder) {
      throw UsageError("can't write an index beside " + shown_path(path) + ": give -o FILE");
    }
  }
  InputProgress progress(context, "scan", paths);
  return for_each_input_at_once(
      context, "index", paths, arguments.threads,
      [&](const FileShare& share) -> InputReport {
        const std::string& path = paths[share.number];
        try {
          return index_file(arguments, context, path, share, progress);
        } catch (const Error& error) {
          if (!arguments.json || error.kind() == ErrorKind::cancelled) throw;
          return [path, error]() -> ExitCode {
            print(error_line(path, text_of(error)));
            throw error;
          };
        }
      },
      [&](ErrorKind kind) {
        const bool misfit = kind == ErrorKind::checksum_mismatch || is_damage(kind);
        return arguments.check && misfit ? ExitCode::no : ExitCode::trouble;
      });
}

}  // namespace

Command index_command() {
  return {
      .name = "index",
      .summary = "Writes the index that DALI reads, or checks one",
      .description =
          R"(Writes FILE.idx beside each FILE: one line "START SIZE" per record, in the format of DALI's
tfrecord2idx. Every CRC is checked: a damaged file gets no index. Compressed files can't be indexed.
An existing index is replaced.

--check tests whether an index still matches its file: the last record must end at the end of the
file, and every header must be where the index says (for a URL, only some headers are checked).
Record data is not read. With --json, both modes print one object per file: {path, index, records},
or {path, error}.)",
      .examples = R"(  tfrecord index 'train-*.tfrecords'
  tfrecord index train.tfrecords -o train.index
  tfrecord index --check train.tfrecords || tfrecord index train.tfrecords)",
      .answers_no = "with --check, an index does not match its file",
      .define = [](CommandApp& app) -> CommandAction {
        const auto arguments = std::make_shared<IndexArguments>();
        add_files(app, arguments->files);
        app.add_output("-o,--output", arguments->index,
                       "Index file, for a single FILE (default: FILE.idx); - is standard output",
                       [&given = *arguments](const CommandContext& context) {
                         return indexes_of(given, context);
                       });
        app.add_flag("--check", arguments->check, "Check the index instead of writing it");
        add_threads(app, arguments->threads);
        app.set_output_format([] { return "idx"; });
        app.add_flag("--json", arguments->json, "Print one JSON object per file");
        return [arguments](const CommandContext& context) {
          return write_indexes(*arguments, context);
        };
      }};
}

}  // namespace recordpipe
