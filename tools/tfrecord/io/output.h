// The destination of a subcommand's result: a file that appears completely or not at all; or
// standard output, a FIFO or a device, to which it is written directly.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "dataset/applications/command_line/option.h"
#include "recordpipe/file.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

// Adds -o, --output; "-", the default, is standard output.
Option add_output(CommandApp& app, std::string& path);

// Standard output for "-"; the FIFO or device if `path` leads to one; null if a file is to be
// written.
std::unique_ptr<ByteSink> open_if_stream(const CommandContext& context, const std::string& path);

// The directory for temporary files: that of `output` if it is a file, otherwise $TMPDIR, or /tmp.
std::string temporary_directory_for(FileSystem& files, const std::string& output);

// Buffers small writes. Data written to standard output before an exception is flushed; a file that
// was not closed never appears.
class Output final : public ByteSink {
 public:
  Output(const CommandContext& context, const std::string& path);
  ~Output() override;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::span<const std::byte> data) override;
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  // Writes the buffered data.
  void flush();
  void close() override;
  const std::string& path() const override { return sink_->path(); }

 private:
  const bool is_standard_;
  std::unique_ptr<ByteSink> sink_;
  std::string buffer_;
};

// To be called after parsing. Throws UsageError if an output's name is empty or leads to standard
// output, or if an input file would be replaced by the result or one of its shards, or grow by data
// written to standard output. Files are compared by identity, not by name.
void require_sound_output(FileSystem& files, const CommandApp& app);

// On standard error.
void print_summary(const CommandContext& context, const std::string& text);

}  // namespace recordpipe
