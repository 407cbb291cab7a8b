#include "tools/tfrecord/output_check.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <CLI/App.hpp>
#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataset/base/error.h"
#include "dataset/io/glob.h"
#include "dataset/io/http_url.h"
#include "tools/tfrecord/command.h"
#include "tools/tfrecord/file_identity.h"
#include "tools/tfrecord/inputs.h"

namespace recordpipe {
namespace {

// The arguments that name files to read; others name shells, commands and folders to work in.
constexpr std::array<std::string_view, 5> kFileArguments = {"FILE", "INPUT", "A", "B", "--labels"};

// Linux's names of it.
constexpr std::array<std::string_view, 3> kStandardOutput = {"/dev/stdout", "/dev/fd/1",
                                                             "/proc/self/fd/1"};

bool is_given(const CLI::App& app, const std::string& name) {
  const CLI::Option* const option = app.get_option_no_throw(name);
  return option != nullptr && !option->empty();
}

// view's --max-bytes is another.
bool writes_shards(const CLI::App& app) {
  return app.get_option_no_throw("--shards") != nullptr &&
         (is_given(app, "--shards") || is_given(app, "--max-bytes"));
}

// A file that standard input or output was redirected to.
std::optional<FileIdentity> regular_file(int descriptor) {
  const auto file = identity_of(descriptor);
  return file && file->type == S_IFREG ? file : std::nullopt;
}

void add_input(FileSystem& files, const std::string& given, FileIdentities& inputs) {
  if (is_http_url(given)) return;
  if (is_standard_input(given)) return inputs.add(regular_file(STDIN_FILENO));
  const auto file = identity_of(given);
  inputs.add(file);
  if (file || !has_glob_characters(given)) return;
  for (const std::string& path : glob(files, given)) inputs.add(identity_of(path));
}

FileIdentities inputs_of(FileSystem& files, const CLI::App& app) {
  FileIdentities inputs;
  for (const CLI::Option* const option : app.get_options()) {
    if (std::ranges::find(kFileArguments, option->get_name()) == kFileArguments.end()) continue;
    for (const std::string& given : option->results()) add_input(files, given, inputs);
  }
  return inputs;
}

// A terminal or /dev/null may well be standard output, too, unless it is named as that.
bool is_standard_output(const std::string& output) {
  if (std::ranges::find(kStandardOutput, output) != kStandardOutput.end()) return true;
  const auto file = identity_of(output);
  return file && file->type != S_IFCHR && file == identity_of(STDOUT_FILENO);
}

// The files named NAME-00000-of-00003, ... that are there: with --shards those that will be
// replaced, with --max-bytes those that may be.
std::vector<std::string> shards_of(FileSystem& files, const CLI::App& app,
                                   const std::string& output) {
  constexpr std::string_view kNumber = "[0-9][0-9][0-9][0-9][0-9]";
  const bool is_counted = is_given(app, "--shards");
  const std::string pattern = fmt::format(
      "-{}-of-{}", kNumber,
      is_counted ? fmt::format("{:05}", app.get_option("--shards")->as<size_t>()) : kNumber);
  const size_t name = output.find_last_of('/') + 1;  // npos + 1 is 0
  const std::string_view start = std::string_view(output).substr(name);
  const std::string folder = parent_directory(output);
  std::vector<std::string> found;
  if (!files.status(folder)) return found;  // whoever writes there will say it
  for (const std::string& other : files.list(folder)) {
    if (!other.starts_with(start)) continue;
    if (::fnmatch(pattern.c_str(), other.c_str() + start.size(), 0) != 0) continue;
    found.push_back(output.substr(0, name) + other);
  }
  return found;
}

void require_not_read(const FileIdentities& inputs, const std::string& output,
                      const std::string& option = "") {
  if (!inputs.contains(identity_of(output))) return;
  throw UsageError(option + printable(output) +
                   " is one of the files that are read, and would be replaced: give another name");
}

}  // namespace

void require_sound_output(FileSystem& files, const CLI::App& app, bool replaces_input) {
  const FileIdentities inputs = inputs_of(files, app);
  if (inputs.contains(regular_file(STDOUT_FILENO))) {
    throw UsageError("standard output goes to one of the files that are read");
  }
  if (!is_given(app, "--output")) return;
  const std::string output = app.get_option("--output")->results().front();
  if (output.empty()) throw UsageError("-o names no file");
  // What is said of a result that went to a file would be printed into it.
  if (output != "-" && is_standard_output(output)) {
    throw UsageError("standard output is written with -o -");
  }
  if (replaces_input || output == "-" || is_http_url(output)) return;
  if (writes_shards(app)) {
    for (const std::string& shard : shards_of(files, app, output)) require_not_read(inputs, shard);
  } else {
    require_not_read(inputs, output, "-o ");
  }
}

void require_not_read(const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs) {
  FileIdentities read;
  for (const std::string& path : inputs) read.add(identity_of(path));
  for (const std::string& path : outputs) require_not_read(read, path);
}

}  // namespace recordpipe
