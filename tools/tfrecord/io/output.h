// Where a subcommand's result goes: a file that appears whole or not at all, or standard output, or
// a FIFO or a device, into which it is written as it comes.
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

// For a command line that was parsed. Throws UsageError where an output's name is empty or leads to
// standard output, and where a file that is read would be replaced by the result, or by a shard of
// it, or grow by what goes to standard output. Files are told apart by what they are, not by their
// names.
void require_sound_output(FileSystem& files, const CommandApp& app);

// On one line, without its end; what is not valid UTF-8 (names of files may be anything) becomes
// U+FFFD.
inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}
inline std::string json_line(const nlohmann::ordered_json& json) { return json_text(json) + "\n"; }

// Of a file that can't be read, by commands which print an object a file.
inline std::string error_line(const std::string& path, const std::string& error) {
  return json_line({{"path", without_secrets(path)}, {"error", error}});
}

// Adds --json for such a summary.
void add_json_summary(CLI::App& app, bool& json);

// Throws UsageError if both the result and the summary would go to standard output.
void check_json_summary(bool json, const std::string& output);

void print_summary(const CommandContext& context, const std::string& text);
void print_summary(const CommandContext& context, const nlohmann::ordered_json& json);

}  // namespace recordpipe
