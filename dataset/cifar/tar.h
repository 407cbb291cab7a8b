// Reads the regular files of a tar archive as a stream, and writes tar archives. Names in an
// archive are never used as paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "dataset/io/read_ahead.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

struct TarLimits {
  uint64_t bytes = uint64_t{512} << 20;  // uncompressed archive, with headers and skipped members
  size_t members = 1000;
  // Size of one member's header with all its extensions, which are kept in memory.
  uint64_t header_bytes = uint64_t{4} << 20;
};

struct TarMember {
  std::string path;
  uint64_t size = 0;
  // False for directories, symbolic and hard links, devices, FIFOs and sparse files; the reader
  // returns no content for them.
  bool regular = false;
  bool folder = false;
};

// As a ByteSource, reads the content of the current member; path() is "ARCHIVE:MEMBER". Not
// thread-safe.
class TarReader final : public ByteSource {
 public:
  // `tar` (not owned) is the decompressed archive.
  explicit TarReader(ReadAhead& tar, const TarLimits& limits = {});
  ~TarReader() override;

  // Advances to the next member. At the end of the archive, reads `tar` to its end, which checks
  // the trailer of the compressed stream, and returns std::nullopt.
  //
  // Throws Error{corrupted} if the archive is damaged or not a tar archive, Error{truncated} if it
  // ends inside a member or without the zeros that end an archive, Error{limit_exceeded} above the
  // limits, and the errors of `tar`. Offsets are in the decompressed archive.
  std::optional<TarMember> next();

  size_t read(std::span<std::byte> out) override;
  // Returns the next byte of the member without consuming it, or std::nullopt at the end of the
  // member.
  std::optional<std::byte> peek();
  const std::string& path() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Writes deterministic tar archives (ustar): the directories and files have a fixed owner, mode and
// date.
class TarWriter {
 public:
  // Writes to `sink`, which is neither owned nor closed.
  explicit TarWriter(ByteSink& sink);
  ~TarWriter();
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;

  void add_folder(const std::string& path);
  void add_file(const std::string& path, std::span<const std::byte> content);
  // Writes the end of the archive. Must be called once.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
