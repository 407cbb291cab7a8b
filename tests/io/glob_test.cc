// Tests the selection of files by patterns, through the FileSystem interface.
#include "recordpipe/io/glob.h"

#include <cerrno>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/empty_files.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/shell.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Glob : public EmptyFiles {
 protected:
  // Returns the matches in the folder, without the folder's path.
  std::vector<std::string> matches(const std::string& pattern) {
    return without_folder(glob(posix_file_system(), directory / pattern));
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

TEST_F(Glob, TwoStarsStandForAnyNumberOfFolders) {
  make({"x.r", "a/x.r", "a/b/x.r", "a/b/y.r", ".h/x.r", "a/.h/x.r", "a/.x.r"});
  EXPECT_THAT(matches("**/x.r"), ElementsAre("a/b/x.r", "a/x.r", "x.r"));
  EXPECT_THAT(matches("**/*.r"), ElementsAre("a/b/x.r", "a/b/y.r", "a/x.r", "x.r"));
  EXPECT_THAT(matches("**"), ElementsAre("a/b/x.r", "a/b/y.r", "a/x.r", "x.r"));
  EXPECT_THAT(matches("a/**/b/*"), ElementsAre("a/b/x.r", "a/b/y.r"));
  EXPECT_THAT(matches("**/b/**"), ElementsAre("a/b/x.r", "a/b/y.r"));
  EXPECT_THAT(matches("**/**/x.r"), ElementsAre("a/b/x.r", "a/x.r", "x.r"));
  EXPECT_THAT(matches("**/.x.r"), ElementsAre("a/.x.r"));
  EXPECT_THAT(matches("**/.h/x.r"), ElementsAre(".h/x.r", "a/.h/x.r"));
  // Only as a whole component.
  EXPECT_THAT(matches("a**"), IsEmpty());
  EXPECT_THAT(matches("a**/x.r"), ElementsAre("a/x.r"));
  EXPECT_THAT(matches("**/missing"), IsEmpty());
  EXPECT_THAT(matches("missing/**"), IsEmpty());
  EXPECT_THAT(matches("**/b/../x.r"), ElementsAre("a/b/../x.r"));
}

TEST_F(Glob, ATrailingSlashMatchesFolders) {
  make({"x", "a/x", "b/c/x"});
  EXPECT_THAT(matches("*/"), ElementsAre("a/", "b/"));
  EXPECT_THAT(matches("b/**/"), ElementsAre("b/", "b/c/"));
  EXPECT_THAT(matches("*/x"), ElementsAre("a/x"));
}

TEST_F(Glob, LoopsOfLinksEnd) {
  make({"a/x", "a/b/x"});
  ASSERT_EQ(::symlink("..", (directory / "a/b/up").c_str()), 0);
  ASSERT_EQ(::symlink("a", (directory / "link").c_str()), 0);
  EXPECT_THAT(matches("**/x"), ElementsAre("a/b/x", "a/x"));
  // Any other component follows links.
  EXPECT_THAT(matches("*/x"), ElementsAre("a/x", "link/x"));
  EXPECT_THAT(matches("link/**/x"), ElementsAre("link/b/x", "link/x"));
}

TEST_F(Glob, NamesMayHaveAnyBytes) {
  make({"a\nb.r", "\xFF.r", "\t/ .r"});
  EXPECT_THAT(matches("*.r"), ElementsAre("a\nb.r", "\xFF.r"));
  EXPECT_THAT(matches("**/*.r"), ElementsAre("\t/ .r", "a\nb.r", "\xFF.r"));
}

TEST_F(Glob, ListsEachFolderOnceAndAsksForNoStatus) {
  make({"a/1", "a/2", "b/1", "b/c/1"});
  const auto calls = [&](const std::string& pattern) {
    FaultyFileSystem files(posix_file_system());
    EXPECT_FALSE(glob(files, directory / pattern).empty());
    return files.calls();
  };
  EXPECT_EQ(calls("*/*"), 3U);
  EXPECT_EQ(calls("**/1"), 4U);
  EXPECT_EQ(calls("**/**/*"), 4U);
  EXPECT_EQ(calls("**/c/**/1"), 4U);
  EXPECT_EQ(calls("*/"), 1U);
}

TEST_F(Glob, MatchesAsBashDoes) {
  std::mt19937 random(11);
  const auto any = [&](const std::vector<std::string>& of) { return of[random() % of.size()]; };
  const std::vector<std::string> names = {"a", "b", "ab", "ba", "abc", ".a", "a.b", "b1"};
  for (int i = 0; i < 120; ++i) {
    std::string path = any(names);
    for (size_t depth = random() % 4; depth > 0; --depth) path = any(names) + ".d/" + path;
    make({path});
  }
  const std::vector<std::string> pieces = {"*",   "**",    "*.d",  "a*",       "?",  "[ab]",
                                           "?b*", "[!a]*", ".*",   "a.d",      "ab", "*b",
                                           "**",  "*1",    "a\\b", "[a-c]*.d", "**", ".a.d"};
  std::vector<std::string> patterns;
  while (patterns.size() < 1000) {
    std::string pattern = any(pieces);
    for (size_t depth = random() % 4; depth > 0; --depth) pattern += "/" + any(pieces);
    if (has_glob_characters(pattern)) patterns.push_back(pattern);
  }
  const auto expected = bash_expansions(patterns, directory.path());
  ASSERT_EQ(expected.size(), patterns.size());
  size_t found = 0;
  for (size_t i = 0; i < patterns.size(); ++i) {
    const std::string& pattern = patterns[i];
    const bool ends_literal = !has_glob_characters(pattern.substr(pattern.rfind('/') + 1));
    // bash lists a file twice for **/**, and folders for * and **.
    std::set<std::string> wanted;
    for (const std::string& path : expected[i]) {
      const auto status = posix_file_system().status(directory / path);
      ASSERT_TRUE(status) << path;
      if (ends_literal || status->kind != FileKind::directory) wanted.insert(path);
    }
    // bash matches "." and ".." with .*.
    std::erase_if(wanted, [](const std::string& path) {
      const std::string rooted = "/" + path + "/";
      return rooted.find("/./") != rooted.npos || rooted.find("/../") != rooted.npos;
    });
    EXPECT_EQ(matches(pattern), std::vector(wanted.begin(), wanted.end())) << pattern;
    found += wanted.size();
  }
  EXPECT_GT(found, 3000U);
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
