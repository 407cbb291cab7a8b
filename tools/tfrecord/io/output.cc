#include "tools/tfrecord/io/output.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "dataset/toolkit/files/file_identity.h"
#include "recordpipe/atomic_file.h"
#include "recordpipe/error.h"
#include "recordpipe/glob.h"
#include "recordpipe/http/url.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/standard_streams.h"

namespace recordpipe {
namespace {

constexpr size_t kBufferSize = size_t{256} << 10;

bool is_device(FileSystem& files, const std::string& path) {
  const auto status = files.status(path);
  return status && status->kind == FileKind::other;
}

}  // namespace

Option add_output(CommandApp& app, std::string& path) {
  path = "-";
  return app.add_output("-o,--output", path, "Output file (default: standard output)");
}

std::unique_ptr<ByteSink> open_if_stream(const CommandContext& context, const std::string& path) {
  if (path == "-") return standard_output();
  return is_device(context.files, path) ? open_device_sink(path, context.stop) : nullptr;
}

std::string temporary_directory_for(FileSystem& files, const std::string& output) {
  if (output != "-" && !is_device(files, output)) {
    return parent_directory(files.resolve_link(output));
  }
  const char* const from_environment = std::getenv("TMPDIR");
  return from_environment ? from_environment : "/tmp";
}

Output::Output(const CommandContext& context, const std::string& path)
    : is_standard_(path == "-"), sink_(open_if_stream(context, path)) {
  if (!sink_) sink_ = std::make_unique<AtomicFile>(context.files, path);
}

Output::~Output() {
  if (!is_standard_) return;
  try {
    flush();
  } catch (const std::exception&) {
    // Another error is already being reported, or close() would have reported it.
  }
}

void Output::write(std::span<const std::byte> data) {
  if (data.size() >= kBufferSize) {
    flush();
    sink_->write(data);
    return;
  }
  buffer_.append(reinterpret_cast<const char*>(data.data()), data.size());
  if (buffer_.size() >= kBufferSize) flush();
}

void Output::flush() {
  if (buffer_.empty()) return;
  const std::string full = std::exchange(buffer_, {});
  sink_->write(std::as_bytes(std::span(full)));
}

void Output::close() {
  flush();
  sink_->close();
}

namespace {

// The names of standard output on Linux.
constexpr std::array<std::string_view, 3> kStandardOutput = {"/dev/stdout", "/dev/fd/1",
                                                             "/proc/self/fd/1"};

std::optional<FileIdentity> identity_of_descriptor(int descriptor) {
  struct stat info = {};
  if (::fstat(descriptor, &info) != 0) return std::nullopt;
  return identity_of(info);
}

// Returns the regular file, if any, that standard input or output is redirected to.
std::optional<FileIdentity> regular_file(int descriptor) {
  const auto file = identity_of_descriptor(descriptor);
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
    if (!input.option.was_given()) continue;
    for (const std::string& given : input.paths(files)) add_input(files, given, inputs);
  }
  return inputs;
}

// Standard output may also be a terminal or /dev/null. Character devices are allowed under their
// own names.
bool is_standard_output(const std::string& output) {
  if (std::ranges::find(kStandardOutput, output) != kStandardOutput.end()) return true;
  const auto file = identity_of(output);
  return file && file->type != S_IFCHR && file == identity_of_descriptor(STDOUT_FILENO);
}

void require_sound(FileSystem& files, const FileIdentities& inputs, const OutputOption& output) {
  const std::string given = output.option.was_given() ? output.option.text() : "-";
  if (given.empty()) throw UsageError("-o names no file");
  // The command would treat standard output as a file, and print its summary there as well.
  if (given != "-" && is_standard_output(given)) {
    throw UsageError("standard output is written with -o -");
  }
  if (is_http_url(given) || (output.may_replace_input && output.may_replace_input())) return;
  const auto replaced = output.replaced ? output.replaced(files) : std::vector{given};
  for (const std::string& path : replaced) {
    if (path == "-" || !inputs.contains(identity_of(path))) continue;
    throw UsageError((path == given ? "-o " : "") + printable(path) + " is " + kReplacesInput +
                     ": give another name");
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

void print_summary(const CommandContext& context, const std::string& text) {
  context.progress.warn(text);
}

}  // namespace recordpipe
