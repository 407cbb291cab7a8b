// The regular files in a tar archive, streamed: no name in it ever reaches the file system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "dataset/io/read_ahead.h"
#include "recordpipe/file.h"

namespace recordpipe {

struct TarLimits {
  uint64_t bytes = uint64_t{512} << 20;  // of the tar archive, headers and skipped members included
  size_t members = 1000;
  // Of one member's header with all its extensions, which are kept in memory.
  uint64_t header_bytes = uint64_t{4} << 20;
};

struct TarMember {
  std::string path;
  uint64_t size = 0;
  // False for folders, symbolic and hard links, devices, FIFOs and sparse files: those have no
  // content here.
  bool regular = false;
};

// Also the content of the current member: read() gives its bytes, path() is "ARCHIVE:MEMBER".
class TarReader final : public ByteSource {
 public:
  // `tar` (not owned) gives the archive's bytes, inflated.
  explicit TarReader(ReadAhead& tar, const TarLimits& limits = {});
  ~TarReader() override;

  // Skips what is left of the current member and goes to the next one. At the end of the archive,
  // nothing: `tar` has then been read to its own end, so that its trailer is checked.
  //
  // Throws Error{corrupted} where it is no tar archive or a damaged one, Error{truncated} where it
  // ends inside a member (a size that is not true, for instance), Error{limit_exceeded} past the
  // limits, and whatever `tar` throws. Offsets are in the inflated archive.
  std::optional<TarMember> next();

  size_t read(std::span<std::byte> out) override;
  // The next byte of the member, which stays; nothing at its end.
  std::optional<std::byte> peek();
  const std::string& path() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
