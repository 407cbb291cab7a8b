// Where generate_cifar10_tfrecords gets its archive from: the data folder, a file, the network, or
// a program that draws it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "dataset/applications/process/terminal_progress.h"
#include "recordpipe/file.h"

namespace recordpipe {

// The command line's wishes; at most one of url, archive and synthetic.
struct CifarArchiveRequest {
  std::string url = {};
  std::string archive = {};
  bool synthetic = false;
  bool synthetic_fallback = false;  // where what must be downloaded can't be reached
  bool synthetic_is_there =
      false;  // all files of an earlier fallback: they need not be drawn again
  uint64_t synthetic_seed = 1;
  std::string sha256 = {};  // hexadecimal digits, "none", or nothing
};

struct CifarArchiveSource {
  std::string path = {};  // empty: nothing to convert, the synthetic files are there
  std::optional<std::string> sha256 = {};  // what it must be
  bool hash = false;                       // whether that is still to be found out
  bool synthetic = false;                  // drawn by program, now or earlier
  bool downloaded = false;  // into the data folder, now or earlier: the next run would use it again
};

// Downloads or draws the archive into `data_dir` where it has to.
CifarArchiveSource obtain_cifar_archive(FileSystem& files, const std::string& data_dir,
                                        const CifarArchiveRequest& request,
                                        TerminalProgress& progress, std::stop_token stop);

// Says it in one line if no published archive has this SHA-256.
void note_unknown_checksum(const std::string& path, const std::string& sha256,
                           TerminalProgress& progress);

}  // namespace recordpipe
