// A folder of empty files, for tests of which files are found.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/io/file.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {

class EmptyFiles : public testing::Test {
 protected:
  // Makes empty files, and the folders that they are in.
  void make(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      posix_file_system().make_directories(parent_directory(directory / name));
      write_file(directory / name, "");
    }
  }
  // Returns the paths, without the folder's path.
  std::vector<std::string> without_folder(std::vector<std::string> paths) const {
    for (std::string& path : paths) path.erase(0, directory.path().size() + 1);
    return paths;
  }

  TemporaryDirectory directory;
};

}  // namespace recordpipe
