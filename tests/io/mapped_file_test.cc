// Tests mapped files, and the truncation of mapped files.
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "recordpipe/io/file.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  TemporaryDirectory directory;
  const std::string path = directory / "a";
  FileSystem& files = posix_file_system();
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
};

size_t count_of(std::span<const std::byte> bytes, char wanted) {
  return static_cast<size_t>(std::ranges::count(bytes, static_cast<std::byte>(wanted)));
}

TEST_F(MappedFileTest, AnEmptyFileMapsToNothing) {
  write_file(path, "");
  const auto file = files.map(path);
  EXPECT_TRUE(file->bytes().empty());
  EXPECT_FALSE(file->damaged());
}

TEST_F(MappedFileTest, OutlivesItsName) {
  write_file(path, "content");
  const auto file = files.map(path);
  std::filesystem::remove(path);
  write_file(path, "new");  // another, shorter file with the same name
  EXPECT_EQ(as_text(file->bytes()), "content");
  EXPECT_FALSE(file->damaged());
}

TEST_F(MappedFileTest, ACutFileReadsAsZerosAndIsDamaged) {
  write_file(path, std::string(100 * page + 10, 'x'));
  write_file(directory / "b", std::string(10 * page, 'x'));
  const auto file = files.map(path);
  const auto other = files.map(directory / "b");
  EXPECT_EQ(count_of(file->bytes(), 'x'), 100 * page + 10);
  EXPECT_FALSE(file->damaged());
  std::filesystem::resize_file(path, 3 * page + 5);
  EXPECT_EQ(count_of(file->bytes(), 'x'), 3 * page + 5);
  EXPECT_EQ(count_of(file->bytes(), '\0'), 97 * page + 5);
  EXPECT_TRUE(file->damaged());
  EXPECT_EQ(count_of(other->bytes(), 'x'), 10 * page);
  EXPECT_FALSE(other->damaged());
}

// The kernel fills the rest of the last page with zeros and sends no signal.
TEST_F(MappedFileTest, ACutInsideTheLastPageIsSeen) {
  write_file(path, std::string(page + 100, 'x'));
  const auto file = files.map(path);
  std::filesystem::resize_file(path, page + 1);
  EXPECT_EQ(count_of(file->bytes(), 'x'), page + 1);
  EXPECT_TRUE(file->damaged());
}

TEST_F(MappedFileTest, StaysDamagedWhenTheFileGrowsAgain) {
  write_file(path, std::string(4 * page, 'x'));
  const auto file = files.map(path);
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(count_of(file->bytes(), '\0'), 4 * page);
  write_file(path, std::string(4 * page, 'x'));
  EXPECT_TRUE(file->damaged());
}

TEST_F(MappedFileTest, ManyThreadsMayMeetTheCut) {
  constexpr size_t kPages = 512;
  write_file(path, std::string(kPages * page, 'x'));
  const auto file = files.map(path);
  std::filesystem::resize_file(path, page);
  std::vector<std::thread> threads;
  std::vector<size_t> zeros(8);
  for (size_t& count : zeros) {
    threads.emplace_back([&] { count = count_of(file->bytes(), '\0'); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const size_t count : zeros) EXPECT_EQ(count, (kPages - 1) * page);
  EXPECT_TRUE(file->damaged());
}

std::string read_from(const MappedFile& file, uint64_t offset, size_t size) {
  std::string text(size, '?');
  file.read_at(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

TEST_F(MappedFileTest, ReadsWhatItMaps) {
  std::string content(3 * page + 7, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i / 7);
  write_file(path, content);
  const auto file = files.map(path);
  EXPECT_EQ(read_from(*file, 0, content.size()), content);
  EXPECT_EQ(read_from(*file, page - 1, page + 2), content.substr(page - 1, page + 2));
  EXPECT_EQ(read_from(*file, content.size(), 0), "");
}

TEST_F(MappedFileTest, ReadsOnWhereAnotherFileHasItsName) {
  write_file(path, "content");
  const auto file = files.map(path);
  std::filesystem::rename(path, directory / "b");
  EXPECT_EQ(read_from(*files.map(directory / "b"), 0, 7), "content");
  write_file(path, "another");
  EXPECT_EQ(read_from(*file, 0, 7), "content");
  EXPECT_FALSE(file->damaged());
}

TEST_F(MappedFileTest, ReadsOnWithoutAName) {
  write_file(path, "content");
  const auto file = files.map(path);
  std::filesystem::remove(path);
  EXPECT_EQ(read_from(*file, 0, 7), "content");
}

TEST_F(MappedFileTest, ReadsOnWithoutADescriptor) {
#ifdef RECORDPIPE_SANITIZED
  GTEST_SKIP() << "UndefinedBehaviorSanitizer's vptr check opens a pipe and fails without it";
#endif
  write_file(path, "content");
  const auto file = files.map(path);
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string text = read_from(*file, 0, 7);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(text, "content");
  EXPECT_FALSE(file->damaged());
}

TEST_F(MappedFileTest, ReadingBehindACutGivesZerosAndIsDamage) {
  write_file(path, std::string(4 * page, 'x'));
  const auto file = files.map(path);
  EXPECT_EQ(read_from(*file, 0, page), std::string(page, 'x'));
  std::filesystem::resize_file(path, 2 * page + 5);
  EXPECT_EQ(read_from(*file, page, 3 * page),
            std::string(page + 5, 'x') + std::string(2 * page - 5, '\0'));
  EXPECT_TRUE(file->damaged());
}

// Maps and unmaps files repeatedly; each is truncated while it is mapped.
TEST_F(MappedFileTest, ADamageIsNotInheritedByTheNextMapping) {
  for (int round = 0; round < 50; ++round) {
    write_file(path, std::string(2 * page, 'x'));
    const auto file = files.map(path);
    EXPECT_FALSE(file->damaged());
    std::filesystem::resize_file(path, page);
    EXPECT_EQ(count_of(file->bytes(), 'x'), page);
    EXPECT_TRUE(file->damaged());
  }
}

// Reads a truncated file through a mapping that this library didn't make.
void touch_a_foreign_cut_mapping(const std::string& path) {
  write_file(path, std::string(100, 'x'));
  const int fd = ::open(path.c_str(), O_RDWR);
  auto* bytes = static_cast<volatile char*>(::mmap(nullptr, 100, PROT_READ, MAP_SHARED, fd, 0));
  if (::ftruncate(fd, 0) == 0) static_cast<void>(bytes[0]);
}

using MappedFileDeathTest = MappedFileTest;

TEST_F(MappedFileDeathTest, AHandlerThatWasThereBeforeGetsForeignFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process: its first mapping is below
  EXPECT_EXIT(
      {
        ::signal(SIGBUS, [](int) { ::_exit(42); });
        write_file(path, "content");
        const auto file = files.map(path);
        touch_a_foreign_cut_mapping(directory / "b");
      },
      testing::ExitedWithCode(42), "");
}

TEST_F(MappedFileDeathTest, AForeignFaultKillsAsItWould) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        write_file(path, "content");
        const auto file = files.map(path);
        touch_a_foreign_cut_mapping(directory / "b");
      },
      "");
}

TEST_F(MappedFileDeathTest, ASignalThatIsSentKillsAsItWould) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        write_file(path, "content");
        const auto file = files.map(path);
        ::raise(SIGBUS);
      },
      "");
}

}  // namespace
}  // namespace recordpipe
