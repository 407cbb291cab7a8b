#include "tools/tfrecord/io/output_check.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

#include "recordpipe/error.h"
#include "recordpipe/glob.h"
#include "recordpipe/http/url.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/io/file_identity.h"
#include "tools/tfrecord/io/inputs.h"

namespace recordpipe {
namespace {

// Linux's names of it.
constexpr std::array<std::string_view, 3> kStandardOutput = {"/dev/stdout", "/dev/fd/1",
                                                             "/proc/self/fd/1"};

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

FileIdentities inputs_of(FileSystem& files, const CommandApp& app) {
  FileIdentities inputs;
  for (const InputOption& input : app.inputs()) {
    if (input.option->empty()) continue;
    for (const std::string& given : input.paths(files)) add_input(files, given, inputs);
  }
  return inputs;
}

// A terminal or /dev/null may well be standard output, too, unless it is named as that.
bool is_standard_output(const std::string& output) {
  if (std::ranges::find(kStandardOutput, output) != kStandardOutput.end()) return true;
  const auto file = identity_of(output);
  return file && file->type != S_IFCHR && file == identity_of(STDOUT_FILENO);
}

void require_sound(FileSystem& files, const FileIdentities& inputs, const OutputOption& output) {
  const std::string given = output.option->empty() ? "-" : output.option->results().front();
  if (given.empty()) throw UsageError("-o names no file");
  // What is said of a result that went to a file would be printed into it.
  if (given != "-" && is_standard_output(given)) {
    throw UsageError("standard output is written with -o -");
  }
  if (is_http_url(given) || (output.may_replace_input && output.may_replace_input())) return;
  const auto replaced = output.replaced ? output.replaced(files) : std::vector{given};
  for (const std::string& path : replaced) {
    if (path == "-" || !inputs.contains(identity_of(path))) continue;
    throw UsageError((path == given ? "-o " : "") + printable(path) +
                     " is one of the files that are read, and would be replaced: give another "
                     "name");
  }
}

}  // namespace

void require_sound_output(FileSystem& files, const CommandApp& app) {
  const FileIdentities inputs = inputs_of(files, app);
  if (inputs.contains(regular_file(STDOUT_FILENO))) {
    throw UsageError("standard output goes to one of the files that are read");
  }
  for (const OutputOption& output : app.outputs()) require_sound(files, inputs, output);
}

}  // namespace recordpipe
