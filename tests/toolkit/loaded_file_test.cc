// Tests that small files are read once: their content in memory, and the calls that `info` makes.
#include "dataset/toolkit/files/loaded_file.h"

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "dataset/toolkit/files/file_facts.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

class LoadedFileTest : public testing::Test {
 protected:
  TemporaryDirectory directory;
  const std::string path = directory / "a";
  FileSystem& files = posix_file_system();
};

TEST_F(LoadedFileTest, HasTheContentAndThePath) {
  write_file(path, "content");
  const LoadedFile file(*files.open_random(path));
  EXPECT_EQ(file.path(), path);
  EXPECT_EQ(file.size(), 7u);
  EXPECT_EQ(as_text(file.bytes()), "content");
  EXPECT_EQ(as_text(file.read(3, 2, {})), "te");
  EXPECT_EQ(as_text(file.read(3, 100, {})), "tent");
  EXPECT_TRUE(file.read(8, 1, {}).empty());
  EXPECT_EQ(file.bytes().data(), file.read(0, 1, {}).data());
}

TEST_F(LoadedFileTest, AFileThatWasTruncatedMeanwhileIsShorter) {
  write_file(path, "content");
  const auto opened = files.open_random(path);
  std::filesystem::resize_file(path, 3);
  const LoadedFile file(*opened);
  EXPECT_EQ(file.size(), 3u);
  EXPECT_EQ(as_text(file.read(0, 7, {})), "con");
}

TEST_F(LoadedFileTest, OnlySmallFilesAreLoaded) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, kMaxLoaded, kMaxLoaded + 1}) {
    write_file(path, std::string(size, 'x'));
    const auto file = loaded_if_small(files.open_random(path));
    EXPECT_EQ(file->size(), size);
    EXPECT_EQ(file->stable(), size <= kMaxLoaded) << size;
  }
}

TEST_F(LoadedFileTest, FactsOfASmallFileTakeOneRead) {
  RecordWriter writer(files, path, {});
  for (int i = 0; i < 50; ++i) writer.write(as_bytes(std::string(1000, 'x')));
  writer.close();
  FaultyFileSystem counted(files);
  const FileWork work{.files = counted};
  const FileFacts facts = find_file_facts(work, path, {}, input_status(work, path));
  EXPECT_EQ(facts.records, 50u);
  EXPECT_EQ(facts.sample.records, 50u);
  EXPECT_EQ(facts.compression, Compression::none);
  EXPECT_EQ(counted.bytes_read(), std::filesystem::file_size(path));
  // status, open_random, read_at, status of the index
  EXPECT_EQ(counted.calls(), 4u);
}

}  // namespace
}  // namespace recordpipe
