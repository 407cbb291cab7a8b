// Text files by lines, compressed or not; and pipes that are read twice.
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

// A file, URL or standard input as text: what is compressed by gzip or zstd is inflated. The bytes
// that are read count in `progress`.
std::unique_ptr<ByteSource> open_text(const CommandContext& context, const std::string& path,
                                      InputProgress& progress);

class LineReader {
 public:
  // Lines longer than this are refused: Error{limit_exceeded}.
  static constexpr size_t kLongestLine = size_t{1} << 30;

  explicit LineReader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  // The next line without its end ("\n", "\r\n", or that of the file), valid until the next call.
  std::optional<std::string_view> next();
  // Of the line that next() gave, from 1.
  uint64_t number() const { return number_; }
  const std::string& path() const { return source_->path(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string buffer_;
  size_t begin_ = 0;
  bool ended_ = false;
  uint64_t number_ = 0;
};

// Must live as long as its sources; stays where it is. Throws what TemporaryFile throws.
class Spool {
 public:
  explicit Spool(const std::string& directory) : file_(directory) {}
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Gives what `source` gives, which is kept until stop().
  std::unique_ptr<ByteSource> keep(std::unique_ptr<ByteSource> source);
  void stop() { keeps_ = false; }
  // Gives what was kept once more, from its start.
  std::unique_ptr<ByteSource> open() const;

 private:
  class Kept;

  TemporaryFile file_;
  std::string path_;  // the source's
  bool keeps_ = true;
};

}  // namespace recordpipe
