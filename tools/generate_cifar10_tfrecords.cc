// generate_cifar10_tfrecords: converts a CIFAR archive from any source to TFRecord files.
#include <cstdio>
#include <exception>
#include <new>
#include <stop_token>
#include <string>

#include <fmt/format.h>

#include "recordpipe/base/error.h"
#include "recordpipe/base/version.h"
#include "recordpipe/cifar/convert.h"
#include "recordpipe/cifar/data_folder.h"
#include "recordpipe/http/url.h"
#include "recordpipe/io/file.h"
#include "recordpipe/io/sha256.h"
#include "recordpipe/record/record_reader.h"
#include "tools/cifar_archive_source.h"
#include "tools/support/command_line/argument_parser.h"
#include "tools/support/process/interrupt.h"
#include "tools/support/process/terminal_progress.h"

namespace recordpipe {
namespace {

constexpr char kProgram[] = "generate_cifar10_tfrecords";

struct Arguments {
  std::string data_dir = ".";
  CifarArchiveRequest request = {};
  std::string compression = "none";
  size_t shards = 1;
  bool keep_extracted = false;
  bool force = false;
  bool quiet = false;
};

constexpr char kDescription[] =
    R"(Makes train.tfrecords, validation.tfrecords and eval.tfrecords out of a CIFAR archive.

Without --url, --archive or --synthetic it takes cifar-10-python.tar.gz or cifar-10-binary.tar.gz
in the data folder, and downloads the first from https://www.cs.toronto.edu/~kriz/ if neither is
there. Archives of pickles and of plain records are read, of CIFAR-10 and of CIFAR-100. No file
appears before all are complete; source.txt beside them names their source.

CIFAR-10:  train is data_batch_1 to 4, validation data_batch_5, eval test_batch.
CIFAR-100: train is the first four fifths of its training images, validation the last fifth.
A record is an Example of image (3072 bytes: red, green, blue, row by row) and label (0 to 9);
CIFAR-100 adds coarse_label and fine_label, and label is the fine one.)";

constexpr char kExamples[] =
    R"(Examples:
  generate_cifar10_tfrecords --data-dir data/cifar10
  generate_cifar10_tfrecords --data-dir data/cifar10 --archive ~/cifar-10-python.tar.gz
  generate_cifar10_tfrecords --data-dir data/cifar100 --shards 8 \
      --url https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz
  generate_cifar10_tfrecords --data-dir data/synthetic --synthetic

Exit status: 0 done, or everything was there; 1 failed; 2 wrong usage; 130 interrupted (143 by
SIGTERM, 129 by SIGHUP). A download that was cut is resumed when the same command runs again.)";

// Probably an unset variable in a script: "" must not mean "not given".
std::string check_not_empty(const std::string& text) {
  return text.empty() ? "the name is empty" : "";
}

// An exception of `parse` is the error of the argument.
template <class Parse>
Option::Check accepted_by(Parse parse) {
  return [parse](const std::string& text) -> std::string {
    try {
      parse(text);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  };
}

void define_options(ArgumentParser& app, Arguments& arguments) {
  CifarArchiveRequest& request = arguments.request;
  app.add_option("--data-dir", arguments.data_dir, "Output folder; created if missing")
      .check(check_not_empty)
      .type_name("DIR")
      .show_default();
  const Option url = app.add_option("--url", request.url, "Download this archive (http, https)")
                         .check(accepted_by([](const std::string& text) { HttpUrl{text}; }));
  const Option archive = app.add_option("--archive", request.archive, "Use a local archive")
                             .check(check_not_empty)
                             .type_name("FILE");
  const Option synthetic =
      app.add_flag("--synthetic", request.synthetic,
                   "Generate an archive of 60,000 synthetic images, and use it");
  const Option fallback = app.add_flag("--synthetic-fallback", request.synthetic_fallback,
                                       "If the download fails, use --synthetic");
  url.excludes(archive).excludes(synthetic);
  archive.excludes(synthetic);
  fallback.excludes(archive).excludes(synthetic);
  app.add_option("--synthetic-seed", request.synthetic_seed, "Random seed of the synthetic images")
      .type_name("N")
      .show_default()
      .needs(synthetic);
  app.add_option("--sha256", request.sha256,
                 "Expected SHA-256 of the archive; none: not checked. Default: known for the "
                 "published archives")
      .check(accepted_by([](const std::string& text) {
        if (text != "none") parse_sha256(text);
      }))
      .type_name("HEX|none");
  app.add_option("--compression", arguments.compression,
                 "Compression of the TFRecord files (TensorFlow reads all but zstd)")
      .one_of({"none", "gzip", "zlib", "zstd"})
      .show_default();
  app.add_option("--shards", arguments.shards,
                 "Files per split, as train-00000-of-00004.tfrecords; each has consecutive images")
      .between(size_t{1}, kMaxCifarShards)
      .type_name("1..256")
      .show_default();
  app.add_flag("--keep-extracted", arguments.keep_extracted,
               "Also extract the archive to the data folder");
  app.add_flag("--force", arguments.force, "Write the files again, and replace the existing ones");
  app.add_flag("--quiet", arguments.quiet,
               "Print only errors, and the warning of --synthetic-fallback");
  app.set_version(fmt::format("{} {}", kProgram, RECORDPIPE_VERSION));
  app.set_footer(kExamples);
}

[[noreturn]] void fail_other(const std::string& path, const std::string& what) {
  throw Error({.kind = ErrorKind::already_exists,
               .path = path,
               .reason = "is there already, and is " + what,
               .hint = "--force replaces it"});
}

// It could be any kind of file: opening a FIFO, for example, would block.
void require_file(FileSystem& files, const std::string& path) {
  if (!files.status(path)) fail_other(path, "a link that leads nowhere");
  require_replaceable(files, path);
}

// A plain file's framing reveals truncation; a compressed file would have to be read.
void require_whole(FileSystem& files, const std::string& path) {
  if (detect_compression(files, path) != Compression::none) return;
  try {
    const MappedRecordFile whole(files, path);
  } catch (const Error& error) {
    if (!is_damage(error.kind())) throw;
    fail_other(path, "damaged (" + error.reason() + ")");
  }
}

// Whether all the files exist. Throws if there is something else in their place.
bool is_complete(FileSystem& files, const Arguments& arguments) {
  if (arguments.force) return false;
  const CifarSplitFiles found = find_split_files(files, arguments.data_dir, arguments.shards);
  if (!found.others.empty()) fail_other(found.others.front(), "of another number of shards");
  for (const std::string& path : found.present) {
    require_file(files, path);
    if (detect_compression(files, path) != compression_named(arguments.compression)) {
      fail_other(path, "compressed in another way");
    }
    require_whole(files, path);
  }
  return found.missing.empty();
}

void print_present(FileSystem& files, const Arguments& arguments, const char* kind) {
  if (arguments.quiet) return;
  for (const std::string& path :
       find_split_files(files, arguments.data_dir, arguments.shards).present) {
    const uint64_t bytes = files.status(path).value_or(FileStatus{}).size;
    fmt::print("{}: {} bytes{}, there already\n", printable(path), bytes, kind);
  }
  if (const std::string source = noted_source(files, arguments.data_dir); !source.empty()) {
    fmt::print("They were made from {}\n", source);
  }
  fmt::print("{}; --force writes them anew.\n",
             arguments.keep_extracted ? "Nothing was extracted" : "Nothing to do");
}

// The request, given the existing files: synthetic images never silently replace other images.
CifarArchiveRequest request_beside(FileSystem& files, const Arguments& arguments) {
  CifarArchiveRequest request = arguments.request;
  const auto found = find_split_files(files, arguments.data_dir, arguments.shards);
  const bool synthetic = is_marked_synthetic(files, arguments.data_dir);
  if (!arguments.force && !synthetic && !found.present.empty()) {
    if (request.synthetic) fail_other(found.present.front(), "not synthetic");
    request.synthetic_fallback = false;
  }
  request.synthetic_is_there = synthetic && !arguments.force && found.missing.empty();
  return request;
}

void print_report(const CifarConvertReport& report, bool synthetic) {
  for (const CifarFileReport& file : report.files) {
    fmt::print("{}: {} {}records, {} bytes, {:.2f} s, {:.1f} MB/s\n", printable(file.path),
               file.records, synthetic ? "synthetic " : "", file.bytes, file.seconds,
               static_cast<double>(file.bytes) / 1e6 / file.seconds);
  }
  if (!report.extracted.empty()) {
    fmt::print("{}: the extracted files\n", printable(report.extracted));
  }
  for (const std::string& path : report.removed) {
    fmt::print("{}: removed, it was of another number of shards\n", printable(path));
  }
}

// For use as a prefix of names: without trailing slashes.
std::string folder_name(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// Converts the archive of obtain_cifar_archive().
CifarConvertReport convert(FileSystem& files, const CifarArchiveSource& source,
                           const std::string& data_dir, const CifarConvertOptions& options,
                           TerminalProgress& progress) {
  try {
    return convert_cifar(files, source.path, data_dir, options);
  } catch (const Error& error) {
    const bool bad_archive = error.path().starts_with(source.path) &&
                             error.kind() != ErrorKind::io && error.kind() != ErrorKind::cancelled;
    if (source.downloaded && bad_archive) {
      progress.note(printable(source.path) + ": remove it to have it downloaded again");
    }
    throw;
  }
}

void generate(const Arguments& arguments, std::stop_token stop) {
  FileSystem& files = posix_file_system();
  const auto is_done = [&] {
    // Synthetic files of a fallback are not the requested ones.
    const bool synthetic = is_marked_synthetic(files, arguments.data_dir);
    if (!is_complete(files, arguments)) return false;
    if (synthetic && arguments.request.synthetic_fallback) return false;
    print_present(files, arguments, synthetic ? " of synthetic images" : "");
    return true;
  };
  if (is_done()) return;  // also in read-only folders
  files.make_directories(arguments.data_dir);
  const FolderLock lock(files, arguments.data_dir);
  if (is_done()) return;  // by another process in the meantime

  TerminalProgress progress(arguments.quiet);
  const CifarArchiveSource source = obtain_cifar_archive(
      files, arguments.data_dir, request_beside(files, arguments), progress, stop);
  if (source.path.empty()) return print_present(files, arguments, " of synthetic images");
  CifarConvertOptions options{
      .compression = *compression_named(arguments.compression),
      .shards = arguments.shards,
      .keep_extracted = arguments.keep_extracted,
      .synthetic = source.synthetic,
      .hash = source.hash,
      .sha256 = source.sha256,
      .progress = [&](const Progress& at) { progress.update(at); },
      .stop = stop,
  };
  const CifarConvertReport report = convert(files, source, arguments.data_dir, options, progress);
  progress.clear();
  if (source.hash && !source.sha256) note_unknown_checksum(source.path, report.sha256, progress);
  if (!arguments.quiet) print_report(report, source.synthetic);
}

int run(int argc, char** argv) {
  open_standard_descriptors();
  const Interrupt interrupt;
  ArgumentParser app(kProgram, kDescription);
  Arguments arguments;
  define_options(app, arguments);
  if (const auto status = app.parse_or_print(arguments_of(argc, argv))) return *status;
  arguments.data_dir = folder_name(arguments.data_dir);
  try {
    generate(arguments, interrupt.token());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: out of memory (it needs about 250 MiB)\n", kProgram);
    return 1;
  } catch (const std::exception& error) {
    const auto* ours = dynamic_cast<const Error*>(&error);
    std::fprintf(stderr, "%s: %s\n", kProgram, error.what());
    if (ours && ours->kind() == ErrorKind::cancelled && interrupt.exit_code() != 0) {
      return interrupt.exit_code();
    }
    return 1;
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) { return recordpipe::run(argc, argv); }
