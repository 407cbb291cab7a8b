#include "tools/tfrecord/io/output.h"

#include <cstdlib>
#include <exception>
#include <utility>

#include "recordpipe/atomic_file.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/io/standard_streams.h"

namespace recordpipe {
namespace {

constexpr size_t kBufferSize = size_t{256} << 10;

bool is_device(FileSystem& files, const std::string& path) {
  const auto status = files.status(path);
  return status && status->kind == FileKind::other;
}

}  // namespace

CLI::Option* add_output(CommandApp& app, std::string& path) {
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
    // Something else has failed before, or close() would have reported it.
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

}  // namespace recordpipe
