// Obtains the archive for generate_cifar10_tfrecords: from the data folder, a given file or the
// network, or by drawing synthetic images.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "recordpipe/io/file.h"
#include "tools/support/process/terminal_progress.h"

namespace recordpipe {

// The options of the command line; at most one of url, archive and synthetic is set.
struct CifarArchiveRequest {
  std::string url = {};
  std::string archive = {};
  bool synthetic = false;
  bool synthetic_fallback = false;  // if the network fails
  bool synthetic_is_there =
      false;  // all files of an earlier fallback exist: they need not be drawn again
  uint64_t synthetic_seed = 1;
  std::string sha256 = {};  // hexadecimal digits, "none", or empty
};

struct CifarArchiveSource {
  std::string path = {};                   // empty: nothing to convert, the synthetic files exist
  std::optional<std::string> sha256 = {};  // the expected checksum
  bool hash = false;                       // whether the checksum must still be computed
  bool synthetic = false;                  // drawn by the program, now or earlier
  bool downloaded = false;  // into the data folder, now or earlier: the next run would reuse it
};

// Downloads or draws the archive into `data_dir` if necessary.
CifarArchiveSource obtain_cifar_archive(FileSystem& files, const std::string& data_dir,
                                        const CifarArchiveRequest& request,
                                        TerminalProgress& progress, std::stop_token stop);

// Prints one line if no published archive has this SHA-256.
void note_unknown_checksum(const std::string& path, const std::string& sha256,
                           TerminalProgress& progress);

}  // namespace recordpipe
