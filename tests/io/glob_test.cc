// Tests the selection of files by patterns, through the FileSystem interface.
#include "recordpipe/glob.h"

#include <cerrno>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Glob : public testing::Test {
 protected:
  TemporaryDirectory directory;

  void make(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      posix_file_system().make_directories(parent_directory(directory / name));
      write_file(directory / name, "");
    }
  }

  // Returns the matches in the folder, without the folder's path.
  std::vector<std::string> matches(const std::string& pattern) {
    std::vector<std::string> names = glob(posix_file_system(), directory / pattern);
    for (std::string& name : names) name.erase(0, directory.path().size() + 1);
    return names;
  }
};

TEST_F(Glob, MatchesAsAShellDoesAndSorts) {
  make({"train-2", "train-10", "train-1", "eval-1", ".train-1.partial", "train-1.bak", "Train-3"});
  EXPECT_THAT(matches("train-*"), ElementsAre("train-1", "train-1.bak", "train-10", "train-2"));
  EXPECT_THAT(matches("train-?"), ElementsAre("train-1", "train-2"));
  EXPECT_THAT(matches("*-1"), ElementsAre("eval-1", "train-1"));
  EXPECT_THAT(matches("[Tt]rain-[2-9]"), ElementsAre("Train-3", "train-2"));
  EXPECT_THAT(matches("train-[!1]"), ElementsAre("train-2"));
  EXPECT_THAT(matches(".train*"), ElementsAre(".train-1.partial"));
  EXPECT_THAT(matches("*partial"), IsEmpty());
  EXPECT_THAT(matches("nothing*"), IsEmpty());
}

TEST_F(Glob, FoldersMayBePatternsAndAreNotFound) {
  make({"b/x/1", "b/x/2", "a/x/1", "a/y/1", "a-/x/1", "x"});
  EXPECT_THAT(matches("*/x/1"), ElementsAre("a-/x/1", "a/x/1", "b/x/1"));
  EXPECT_THAT(matches("a/*/1"), ElementsAre("a/x/1", "a/y/1"));
  EXPECT_THAT(matches("*/x/*"), ElementsAre("a-/x/1", "a/x/1", "b/x/1", "b/x/2"));
  EXPECT_THAT(matches("*"), ElementsAre("x"));
  EXPECT_THAT(matches("x/*"), IsEmpty());
  EXPECT_THAT(matches("missing/*"), IsEmpty());
  EXPECT_THAT(matches("*/missing/1"), IsEmpty());
}

TEST_F(Glob, ABackslashTakesTheMeaning) {
  make({"a*b", "axb", "a[1]"});
  EXPECT_THAT(matches("a\\*b"), ElementsAre("a*b"));
  EXPECT_THAT(matches("a\\[1]"), ElementsAre("a[1]"));
  EXPECT_THAT(matches("a[1]"), IsEmpty());
  EXPECT_THAT(matches("axb"), ElementsAre("axb"));
}

TEST_F(Glob, ALinkThatLeadsNowhereIsFound) {
  ASSERT_EQ(::symlink("missing", (directory / "link").c_str()), 0);
  EXPECT_THAT(matches("l*"), ElementsAre("link"));
}

TEST_F(Glob, LooksInTheWorkingFolder) {
  std::vector<std::string> expected;
  for (const std::string& name : glob(posix_file_system(), "./*")) {
    expected.push_back(name.substr(2));
  }
  EXPECT_EQ(glob(posix_file_system(), "*"), expected);
}

TEST_F(Glob, AFailingFileSystemIsNoEmptyFolder) {
  make({"a/1", "b/1"});
  for_every_fault(
      posix_file_system(), EACCES, [&](FileSystem& files) { glob(files, directory / "*/*"); },
      [&](const FaultyFileSystem& files) {
        if (!files.failed_call().empty()) return;
        EXPECT_EQ(glob(posix_file_system(), directory / "*/*").size(), 2u);
      });
}

}  // namespace
}  // namespace recordpipe
