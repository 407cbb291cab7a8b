// Tests nameless files: appended data can be read at any position, and no file is left behind.
#include "recordpipe/io/temporary_file.h"

#include <csignal>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::IsEmpty;

std::string read(const TemporaryFile& file, uint64_t offset, size_t size) {
  std::vector<std::byte> out(size);
  file.read_at(offset, out);
  return as_text(out);
}

class TemporaryFileTest : public testing::Test {
 protected:
  TemporaryDirectory directory;
};

TEST_F(TemporaryFileTest, IsReadAtAnyPlaceWhileItGrows) {
  TemporaryFile file(directory.path());
  EXPECT_EQ(file.size(), 0u);
  EXPECT_EQ(read(file, 0, 0), "");
  file.append(as_bytes("hello "));
  EXPECT_EQ(read(file, 0, 6), "hello ");
  file.append(as_bytes("world"));
  file.append({});
  EXPECT_EQ(file.size(), 11u);
  EXPECT_EQ(read(file, 0, 11), "hello world");
  EXPECT_EQ(read(file, 4, 3), "o w");
  EXPECT_EQ(read(file, 11, 0), "");
}

TEST_F(TemporaryFileTest, LargerThanAPipesWorthOfWrites) {
  TemporaryFile file(directory.path());
  std::string expected;
  for (int i = 0; i < 300; ++i) expected += std::string(10'000, static_cast<char>('a' + i % 26));
  file.append(as_bytes(std::string_view(expected).substr(0, 17)));
  file.append(as_bytes(std::string_view(expected).substr(17)));
  EXPECT_EQ(file.size(), expected.size());
  EXPECT_TRUE(read(file, 0, expected.size()) == expected);
  EXPECT_EQ(read(file, 1'234'567, 100), expected.substr(1'234'567, 100));
}

TEST_F(TemporaryFileTest, HasNoName) {
  TemporaryFile file(directory.path());
  file.append(as_bytes("secret"));
  EXPECT_THAT(posix_file_system().list(directory.path()), IsEmpty());
}

TEST_F(TemporaryFileTest, TwoInOneFolderAreTwo) {
  TemporaryFile one(directory.path());
  TemporaryFile other(directory.path());
  one.append(as_bytes("one"));
  other.append(as_bytes("other"));
  EXPECT_EQ(read(one, 0, 3), "one");
  EXPECT_EQ(read(other, 0, 5), "other");
}

TEST_F(TemporaryFileTest, CanBeMoved) {
  TemporaryFile file(directory.path());
  file.append(as_bytes("moved"));
  TemporaryFile other = std::move(file);
  other.append(as_bytes("!"));
  EXPECT_EQ(read(other, 0, 6), "moved!");
}

TEST_F(TemporaryFileTest, BehindTheEndThereIsNothing) {
  TemporaryFile file(directory.path());
  file.append(as_bytes("short"));
  const Error error = error_of([&] { read(file, 3, 10); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(error.path(), directory.path());
}

TEST_F(TemporaryFileTest, SaysWhichFolderIsMissing) {
  const std::string missing = directory / "missing";
  const Error error = error_of([&] { TemporaryFile file(missing); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.path(), missing);
}

TEST_F(TemporaryFileTest, AFileSizeLimitIsNoSpace) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      TemporaryFile(directory.path()).append(as_bytes(std::string(2000, 'x')));
    } catch (const Error& error) {
      ::_exit(error.kind() == ErrorKind::no_space ? 0 : 2);
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace recordpipe
