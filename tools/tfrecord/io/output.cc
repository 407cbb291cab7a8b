#include "tools/tfrecord/io/output.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <optional>
#include <set>
#include <utility>

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "dataset/toolkit/files/file_identity.h"
#include "dataset/toolkit/files/format_names.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/standard_streams.h"

namespace recordpipe {
namespace {

constexpr size_t kOutputBufferSize = size_t{256} << 10;

bool is_device(FileSystem& files, const std::string& path) {
  if (is_url(path)) return false;
  const auto status = files.status(path);
  return status && status->kind == FileKind::other;
}

}  // namespace

Option add_output(CommandApp& app, std::string& path, std::function<std::string_view()> format) {
  path = "-";
  const Option option =
      app.add_output("-o,--output", path, "Output file (default: standard output)");
  app.set_output_format(std::move(format));
  return option;
}

std::function<std::string_view()> json_or_text(const bool& json) {
  return [&json] { return json ? "json" : "text"; };
}

std::unique_ptr<ByteSink> open_if_stream(const CommandContext& context, const std::string& path) {
  if (path == "-") return standard_output();
  return is_device(context.files, path) ? open_device_sink(path, context.stop) : nullptr;
}

std::string temporary_directory_for(FileSystem& files, const std::string& output) {
  if (output != "-" && !is_object_url(output) && !is_device(files, output)) {
    return parent_directory(files.resolve_link(output));
  }
  const char* const from_environment = std::getenv("TMPDIR");
  return from_environment ? from_environment : "/tmp";
}

Output::Output(const CommandContext& context, const std::string& path, Durability durability)
    : Output(context, path == "-", open_if_stream(context, path)) {
  if (!sink_) sink_ = std::make_unique<AtomicFile>(context.files, path, durability);
}

Output::Output(const CommandContext& context, bool is_standard, std::unique_ptr<ByteSink> sink)
    : is_standard_(is_standard),
      progress_(context.progress),
      is_terminal_(is_standard_ && ::isatty(STDOUT_FILENO) != 0),
      sink_(std::move(sink)) {}

Output Output::unnamed_file(const CommandContext& context, const std::string& path,
                            Durability durability) {
  return Output(context, false, std::make_unique<AtomicFile>(context.files, path, durability));
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
  if (data.size() >= kOutputBufferSize) {
    flush();
    sink_->write(data);
    return;
  }
  buffer_.append(reinterpret_cast<const char*>(data.data()), data.size());
  if (buffer_.size() >= kOutputBufferSize) flush();
}

void Output::flush() {
  if (buffer_.empty()) return;
  const std::string full = std::exchange(buffer_, {});
  if (is_terminal_) progress_.clear();
  sink_->write(std::as_bytes(std::span(full)));
}

void Output::flush_soon() {
  constexpr auto kInterval = std::chrono::milliseconds(100);
  const auto now = std::chrono::steady_clock::now();
  if (!is_terminal_ && now - flushed_ < kInterval) return;
  flushed_ = now;
  flush();
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

// A file that an output would replace.
struct Replaced {
  std::string path;
  const OutputOption& output;
  bool is_given;                     // by the option; otherwise the name is made from its value
  std::optional<FileIdentity> file;  // of a local file

  bool may_be_input(const CommandContext& context) const {
    return output.may_replace_input && output.may_replace_input(context);
  }
};

// The inputs that an output must not replace.
class ReadFiles {
 public:
  void add(const std::string& path) {
    if (is_object_url(path)) objects_.insert(path);
    if (is_url(path)) return;
    files_.add(is_standard_input(path) ? regular_file(STDIN_FILENO) : identity_of(path));
  }
  bool contains(const std::optional<FileIdentity>& file) const { return files_.contains(file); }
  bool contains(const Replaced& replaced) const {
    return is_object_url(replaced.path) ? objects_.contains(replaced.path)
                                        : contains(replaced.file);
  }

 private:
  FileIdentities files_;
  std::set<std::string> objects_;  // an object has one name
};

ReadFiles inputs_of(const CommandContext& context, const CommandApp& app) {
  ReadFiles inputs;
  for (const InputOption& input : app.inputs()) {
    if (!input.option.was_given()) continue;
    try {
      for (const std::string& path : input.paths(context)) inputs.add(path);
    } catch (const Error& error) {
      // The command reports that there is no such file, before it writes.
      if (error.kind() == ErrorKind::cancelled) throw;
    }
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

// Adds the existing local files, and the objects, that `output` would replace.
void add_replaced(const CommandContext& context, const OutputOption& output,
                  std::vector<Replaced>& all) {
  const std::string given = output.option.was_given() ? output.option.text() : "-";
  if (given.empty()) throw UsageError("-o names no file");
  // The command would treat standard output as a file, and print its summary there as well.
  if (given != "-" && is_standard_output(given)) {
    throw UsageError("standard output is written with -o -");
  }
  if (is_http_url(given)) return;
  for (const std::string& path : output.replaced ? output.replaced(context) : std::vector{given}) {
    if (path == "-") continue;
    auto file = is_object_url(path) ? std::nullopt : identity_of(path);
    if (file || is_object_url(path)) all.push_back({path, output, path == given, std::move(file)});
  }
}

void require_no_input(const CommandContext& context, const CommandApp& app) {
  const auto standard_output = regular_file(STDOUT_FILENO);
  std::vector<Replaced> replaced;
  for (const OutputOption& output : app.outputs()) add_replaced(context, output, replaced);
  // Identifying thousands of inputs takes time.
  if (!standard_output && replaced.empty()) return;
  if (app.keeps_files()) {
    std::vector<std::string> paths;
    for (const Replaced& file : replaced) paths.push_back(file.path);
    require_absent(context.files, paths);
  }
  const ReadFiles inputs = inputs_of(context, app);
  if (inputs.contains(standard_output)) {
    throw UsageError("standard output goes to one of the files that are read");
  }
  for (const Replaced& file : replaced) {
    if (!inputs.contains(file) || file.may_be_input(context)) continue;
    throw UsageError((file.is_given ? "-o " : "") + printable(shown_word(file.path)) + " is " +
                     kReplacesInput + ": give another name");
  }
}

}  // namespace

void require_sound_output(const CommandContext& context, const CommandApp& app) {
  require_no_input(context, app);
  for (const OutputOption& output : app.outputs()) {
    if (!output.format || !output.option.was_given() || output.option.text() == "-") continue;
    const std::string_view format = output.format();
    if (!format.empty()) require_name_of_export(output.option.text(), format);
  }
}

void print_summary(const CommandContext& context, const std::string& text) {
  context.progress.warn(text);
}

}  // namespace recordpipe
