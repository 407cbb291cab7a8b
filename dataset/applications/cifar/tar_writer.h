// Deterministic writer of tar archives (ustar): directories and files with a fixed owner, mode and
// date.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "recordpipe/file.h"

namespace recordpipe {

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
