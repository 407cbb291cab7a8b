// A source that is read on a thread of its own, a bounded number of blocks ahead of its user: what
// reading costs (a disk, inflating, a checksum) runs beside what is done with the bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "recordpipe/file.h"

namespace recordpipe {

struct ReadAheadOptions {
  size_t block_size = size_t{256} << 10;
  size_t blocks = 16;  // at least 2: one being read, one being used
  // The source is one that reads on after Error{corrupted} and Error{truncated} (InflateOptions):
  // so does this.
  bool read_on_after_damage = false;
};

class ReadAhead final : public ByteSource {
 public:
  explicit ReadAhead(std::unique_ptr<ByteSource> source, const ReadAheadOptions& options = {});
  // Waits for the read in progress, and drops what was read ahead.
  ~ReadAhead() override;

  // The next bytes, where they lie: at least one, valid until the next call of any of these.
  // Nothing at the end, and ever after. What the source throws comes out here, after all bytes that
  // came before it, and again at each further call, unless it reads on.
  std::span<const std::byte> next();
  // The same, but they stay the next ones.
  std::span<const std::byte> peek();

  size_t read(std::span<std::byte> out) override;
  const std::string& path() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
