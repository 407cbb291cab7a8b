// A source that a background thread reads a bounded number of blocks ahead: reading (disk,
// decompression, checksum) overlaps with the processing of the bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "recordpipe/file.h"

namespace recordpipe {

struct ReadAheadOptions {
  size_t block_size = size_t{256} << 10;
  size_t blocks = 16;  // at least 2: one being filled, one in use
  // Continue after Error{corrupted} and Error{truncated}, for a source that does (InflateOptions).
  bool read_on_after_damage = false;
};

class ReadAhead final : public ByteSource {
 public:
  explicit ReadAhead(std::unique_ptr<ByteSource> source, const ReadAheadOptions& options = {});
  // Waits for the read in progress and discards the bytes read ahead.
  ~ReadAhead() override;

  // The next bytes, without a copy: at least one byte, valid until the next call of any function.
  // Empty at the end, and at every later call. Rethrows an exception of the source after all bytes
  // before it, and again at each further call unless the source continues after damage.
  std::span<const std::byte> next();
  // The same without consuming the bytes.
  std::span<const std::byte> peek();

  size_t read(std::span<std::byte> out) override;
  const std::string& path() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
