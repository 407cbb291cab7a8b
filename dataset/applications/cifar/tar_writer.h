// Writing a tar archive (ustar): folders and files of fixed owner, mode and date, so that the same
// content gives the same bytes.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "recordpipe/file.h"

namespace recordpipe {

class TarWriter {
 public:
  // Writes to `sink`, which is not owned and not closed.
  explicit TarWriter(ByteSink& sink);
  ~TarWriter();
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;

  void add_folder(const std::string& path);
  void add_file(const std::string& path, std::span<const std::byte> content);
  // Writes the end of the archive. Once.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
