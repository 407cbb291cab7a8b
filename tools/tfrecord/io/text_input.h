// Reads text files line by line, compressed or not. Stores the content of pipes that must be read
// twice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/io/file.h"
#include "recordpipe/io/temporary_file.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/io/input_progress.h"

namespace recordpipe {

// Opens a file, URL or standard input as text; decompresses gzip and zstd, and converts `encoding`
// to UTF-8 (text_encoding.h). Reports the bytes read to `progress`.
std::unique_ptr<ByteSource> open_text(const CommandContext& context, const std::string& path,
                                      InputProgress& progress, const std::string& encoding);

// The lines of a file of at most 64 MiB, without their ends.
std::vector<std::string> lines_of_file(FileSystem& files, const std::string& path);

class LineReader {
 public:
  // For longer lines, next() throws Error{limit_exceeded}.
  static constexpr size_t kLongestLine = size_t{1} << 30;

  explicit LineReader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  // Returns the next line without its terminator ("\n" or "\r\n"; the last line may have none), the
  // first without a byte order mark. The
  // view is valid until the next call. Returns nullopt at the end of the file.
  std::optional<std::string_view> next();
  // The number of the line that next() returned last, starting at 1.
  uint64_t number() const { return number_; }
  const std::string& path() const { return source_->path(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string buffer_;
  size_t begin_ = 0;
  bool ended_ = false;
  uint64_t number_ = 0;
};

// Stores the bytes of a pipe in a temporary file, so that they can be read again. Must outlive the
// sources that keep() and open() return; not movable. Throws the errors of TemporaryFile.
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
