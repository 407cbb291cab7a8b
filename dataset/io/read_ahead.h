// Reads a source on a background thread, a bounded number of blocks ahead, so that reading (disk,
// decompression, checksum) overlaps with the processing of the bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "recordpipe/base/internal/fork.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

struct ReadAheadOptions {
  size_t block_size = size_t{256} << 10;
  size_t blocks = 16;  // at least 2: one being filled, one in use
  // Continue after Error{corrupted} and Error{truncated}. Requires a source that does the same
  // (InflateOptions).
  bool read_on_after_damage = false;
};

class ReadAhead final : public ByteSource {
 public:
  explicit ReadAhead(std::unique_ptr<ByteSource> source, const ReadAheadOptions& options = {});
  // Waits for the read in progress and discards the bytes read ahead.
  ~ReadAhead() override;

  // Returns the next bytes without copying them: at least one byte, valid until the next call of
  // any function. Empty at the end, and on every later call. An exception of the source is rethrown
  // after all bytes before it, and again on every later call unless the source continues after
  // damage.
  std::span<const std::byte> next();
  // Like next(), but does not consume the bytes.
  std::span<const std::byte> peek();

  size_t read(std::span<std::byte> out) override;
  const std::string& path() const override;

 private:
  struct State;
  std::unique_ptr<State, internal::DeleteUnlessForked> state_;
};

}  // namespace recordpipe
