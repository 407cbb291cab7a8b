// Tests AtomicFolder: after any failure, the folder is complete or missing; files outside of it are
// never touched.
#include "tools/tfrecord/io/atomic_folder.h"

#include <cerrno>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class AtomicFolderTest : public testing::Test {
 protected:
  TemporaryDirectory directory;
  const std::string target = directory / "out";
  const std::string partial = directory / ".out.partial";
  FileSystem& files = posix_file_system();

  std::vector<std::string> names() { return files.list(directory.path()); }
  // Writes two files, one of them in a subfolder.
  static void fill(FileSystem& files, const AtomicFolder& folder) {
    files.make_directories(folder.partial() + "/cat");
    for (const char* name : {"/cat/1", "/2"}) {
      const auto file = files.create(folder.partial() + name, CreateMode::truncate);
      file->write(as_bytes("x"));
      file->close();
    }
  }
};

TEST_F(AtomicFolderTest, AppearsWhenCommitted) {
  AtomicFolder folder(files, target + "//");
  fill(files, folder);
  EXPECT_THAT(names(), ElementsAre(".out.partial", ".out.partial.lock"));
  folder.commit();
  EXPECT_THAT(names(), ElementsAre("out"));
  EXPECT_EQ(read_file(target + "/cat/1"), "x");
}

TEST_F(AtomicFolderTest, LeavesNothingUnlessCommitted) {
  {
    const AtomicFolder folder(files, target);
    fill(files, folder);
  }
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(AtomicFolderTest, RemovesWhatAKilledProcessLeft) {
  files.make_directories(partial + "/old/older");
  write_file(partial + "/old/older/file", "old");
  write_file(partial + ".lock", "");
  AtomicFolder folder(files, target);
  EXPECT_THAT(files.list(partial), IsEmpty());
  folder.commit();
  EXPECT_THAT(names(), ElementsAre("out"));
}

TEST_F(AtomicFolderTest, RemovesLinksAndNotWhatTheyLeadTo) {
  files.make_directories(directory / "photos");
  write_file(directory / "photos/mine", "precious");
  files.make_directories(partial);
  std::filesystem::create_directory_symlink(directory / "photos", partial + "/link");
  { const AtomicFolder folder(files, target); }
  EXPECT_EQ(read_file(directory / "photos/mine"), "precious");
  std::filesystem::create_directory_symlink(directory / "photos", partial);
  { const AtomicFolder folder(files, target); }
  EXPECT_EQ(read_file(directory / "photos/mine"), "precious");
  EXPECT_THAT(names(), ElementsAre("photos"));
}

// In /tmp, another user's link can be neither removed nor trusted.
TEST_F(AtomicFolderTest, FollowsNoLinkThatItCannotRemove) {
  files.make_directories(directory / "photos");
  write_file(directory / "photos/mine", "precious");
  for_every_fault(
      files, EPERM, [&](FileSystem& faulty) { AtomicFolder(faulty, target).commit(); },
      [&](const FaultyFileSystem&) { EXPECT_EQ(read_file(directory / "photos/mine"), "precious"); },
      [&] {
        std::filesystem::remove_all(target);
        std::filesystem::remove_all(partial);
        std::filesystem::create_directory_symlink(directory / "photos", partial);
      },
      {"remove"});
}

TEST_F(AtomicFolderTest, AppearsWhereALinkLeads) {
  files.make_directories(directory / "disk");
  std::filesystem::create_symlink("disk/new/", target);
  AtomicFolder folder(files, target + "/");
  fill(files, folder);
  EXPECT_THAT(files.list(directory / "disk"), ElementsAre(".new.partial", ".new.partial.lock"));
  folder.commit();
  EXPECT_THAT(names(), ElementsAre("disk", "out"));
  EXPECT_TRUE(std::filesystem::is_symlink(target));
  EXPECT_THAT(files.list(directory / "disk"), ElementsAre("new"));
  EXPECT_EQ(read_file(target + "/cat/1"), "x");
}

TEST_F(AtomicFolderTest, RefusesWhatIsThere) {
  files.make_directories(target);
  EXPECT_EQ(error_of([&] { AtomicFolder(files, target); }).kind(), ErrorKind::already_exists);
}

TEST_F(AtomicFolderTest, IsWrittenByOneAtATime) {
  const AtomicFolder first(files, target);
  fill(files, first);
  EXPECT_EQ(error_of([&] { AtomicFolder(files, target); }).kind(), ErrorKind::busy);
  EXPECT_EQ(read_file(partial + "/2"), "x");
}

TEST_F(AtomicFolderTest, IsWholeOrNotThereWhateverFails) {
  for_every_fault(
      files, EIO,
      [&](FileSystem& faulty) {
        AtomicFolder folder(faulty, target);
        fill(faulty, folder);
        folder.commit();
      },
      [&](const FaultyFileSystem&) {
        if (files.status(target)) {
          EXPECT_EQ(read_file(target + "/cat/1"), "x");
          EXPECT_EQ(read_file(target + "/2"), "x");
        }
      },
      [&] { std::filesystem::remove_all(target); }, {"remove"});
}

}  // namespace
}  // namespace recordpipe
