// Text files by lines, compressed or not; and storage for pipes that are read twice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "recordpipe/file.h"
#include "recordpipe/temporary_file.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/input_progress.h"

namespace recordpipe {

// A file, URL or standard input as text; gzip and zstd are decompressed. The bytes read are
// reported to `progress`.
std::unique_ptr<ByteSource> open_text(const CommandContext& context, const std::string& path,
                                      InputProgress& progress);

class LineReader {
 public:
  // Longer lines are refused: Error{limit_exceeded}.
  static constexpr size_t kLongestLine = size_t{1} << 30;

  explicit LineReader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  // The next line without its end ("\n", "\r\n", or that of the file), valid until the next call.
  std::optional<std::string_view> next();
  // The number of the line from next(), starting at 1.
  uint64_t number() const { return number_; }
  const std::string& path() const { return source_->path(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string buffer_;
  size_t begin_ = 0;
  bool ended_ = false;
  uint64_t number_ = 0;
};

// Must outlive its sources; not movable. Throws the errors of TemporaryFile.
class Spool {
 public:
  explicit Spool(const std::string& directory) : file_(directory) {}
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Wraps `source`: stores the bytes that it returns, until stop().
  std::unique_ptr<ByteSource> keep(std::unique_ptr<ByteSource> source);
  void stop() { keeps_ = false; }
  // Reads the stored bytes from their start.
  std::unique_ptr<ByteSource> open() const;

 private:
  class Kept;

  TemporaryFile file_;
  std::string path_;  // path of the source
  bool keeps_ = true;
};

}  // namespace recordpipe
