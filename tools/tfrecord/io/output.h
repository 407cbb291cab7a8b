// Writes a subcommand's result: to a file that appears completely or not at all, or directly to
// standard output, a FIFO or a device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "recordpipe/file.h"
#include "recordpipe/internal/url_path.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

// Adds -o, --output; "-", the default, is standard output.
CLI::Option* add_output(CommandApp& app, std::string& path);

// Opens standard output for "-", or the FIFO or device that `path` leads to. Returns null if `path`
// is to be written as a file.
std::unique_ptr<ByteSink> open_if_stream(const CommandContext& context, const std::string& path);

// Returns the directory for temporary files: the directory of `output` if `output` is a file,
// otherwise $TMPDIR or, if that is not set, /tmp.
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

// Must be called after parsing. Throws UsageError if an output's name is empty or leads to standard
// output, if the result or one of its shards would replace an input file, or if standard output is
// redirected to an input file. Compares files by identity, not by name.
void require_sound_output(FileSystem& files, const CommandApp& app);

// Returns `json` on one line, without a newline. Bytes that are not valid UTF-8 (file names may
// contain any bytes) become U+FFFD.
inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}
inline std::string json_line(const nlohmann::ordered_json& json) { return json_text(json) + "\n"; }

// Returns the line for an unreadable file, in commands that print one object per file.
inline std::string error_line(const std::string& path, const std::string& error) {
  return json_line({{"path", without_secrets(path)}, {"error", error}});
}

// Adds --json, which prints the summary as JSON.
void add_json_summary(CLI::App& app, bool& json);

// Throws UsageError if both the result and the summary would go to standard output.
void check_json_summary(bool json, const std::string& output);

void print_summary(const CommandContext& context, const std::string& text);
void print_summary(const CommandContext& context, const nlohmann::ordered_json& json);

}  // namespace recordpipe
