// Where a subcommand's result goes: a file that appears whole or not at all, or standard output, or
// a FIFO or a device, into which it is written as it comes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "recordpipe/file.h"
#include "tools/tfrecord/command_line/cli_forward.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

// Adds -o, --output; "-", the default, is standard output.
CLI::Option* add_output(CommandApp& app, std::string& path);

// Standard output for "-", and the FIFO or device where `path` leads to one; nothing where a file
// is to be written.
std::unique_ptr<ByteSink> open_if_stream(const CommandContext& context, const std::string& path);

// Where what waits to be written to `output` has room: in the folder of the file that it names;
// where it names a stream, in $TMPDIR, or /tmp.
std::string temporary_directory_for(FileSystem& files, const std::string& output);

// Collects small writes. What standard output was given before an exception is not lost; a file
// that was not closed never appears.
class Output final : public ByteSink {
 public:
  Output(const CommandContext& context, const std::string& path);
  ~Output() override;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::span<const std::byte> data) override;
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  // Passes on what was collected.
  void flush();
  void close() override;
  const std::string& path() const override { return sink_->path(); }

 private:
  const bool is_standard_;
  std::unique_ptr<ByteSink> sink_;
  std::string buffer_;
};

}  // namespace recordpipe
