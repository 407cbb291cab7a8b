// Writes a subcommand's result: to a file that appears completely or not at all, or directly to
// standard output, a FIFO or a device.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "recordpipe/io/atomic_file.h"
#include "recordpipe/io/file.h"
#include "tools/support/command_line/option.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

// Adds -o, --output; "-", the default, is standard output. `format`: of the result, which the name
// must not deny (OutputOption).
Option add_output(CommandApp& app, std::string& path,
                  std::function<std::string_view()> format = {});
// The `format` of results that are text, or JSON with --json.
std::function<std::string_view()> json_or_text(const bool& json);

// Opens standard output for "-", or the FIFO or device that `path` leads to. Returns null if `path`
// is to be written as a file.
std::unique_ptr<ByteSink> open_if_stream(const CommandContext& context, const std::string& path);

// Returns the directory for temporary files: the directory of `output` if `output` is a local file,
// otherwise $TMPDIR or, if that is not set, /tmp.
std::string temporary_directory_for(FileSystem& files, const std::string& output);

// Buffers small writes. Data written to standard output before an exception is flushed; a file that
// was not closed never appears.
class Output final : public ByteSink {
 public:
  Output(const CommandContext& context, const std::string& path,
         Durability durability = Durability::synced);
  // A file whose name the user didn't give. Standard output is not meant by "-", and a FIFO or a
  // device is refused.
  static Output unnamed_file(const CommandContext& context, const std::string& path,
                             Durability durability);
  ~Output() override;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::span<const std::byte> data) override;
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  // Writes the buffered data.
  void flush();
  // Writes the buffered data to a terminal at once, without the progress bar in it; elsewhere, at
  // most ten times a second.
  void flush_soon();
  void close() override;
  const std::string& path() const override { return sink_->path(); }

 private:
  Output(const CommandContext& context, bool is_standard, std::unique_ptr<ByteSink> sink);

  const bool is_standard_;
  TerminalProgress& progress_;
  const bool is_terminal_;
  std::chrono::steady_clock::time_point flushed_ = {};
  std::unique_ptr<ByteSink> sink_;
  std::string buffer_;
};

// Must be called after parsing. Throws Error{invalid_argument} if the result would have the name of
// another format, and UsageError if an output's name is empty or leads to standard
// output, if the result or one of its shards would replace an input file, or if standard output is
// redirected to an input file. Compares files by identity, not by name.
void require_sound_output(const CommandContext& context, const CommandApp& app);

// Prints the summary on standard error.
void print_summary(const CommandContext& context, const std::string& text);

}  // namespace recordpipe
