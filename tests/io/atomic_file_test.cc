// Tests that after any failure of AtomicFile, the old file or a complete new one exists.
#include "recordpipe/io/atomic_file.h"

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "recordpipe/base/error.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AtomicFileTest : public testing::Test {
 protected:
  TemporaryDirectory directory;
  const std::string target = directory / "a.txt";
  const std::string partial = directory / ".a.txt.partial";
  FileSystem& files = posix_file_system();

  std::vector<std::string> names() { return files.list(directory.path()); }
};

TEST_F(AtomicFileTest, AppearsWhenCommitted) {
  AtomicFile file(files, target);
  file.write(as_bytes("one "));
  file.write(as_bytes("two"));
  EXPECT_THAT(names(), ElementsAre(".a.txt.partial"));
  file.commit();
  EXPECT_THAT(names(), ElementsAre("a.txt"));
  EXPECT_EQ(read_file(target), "one two");
}

TEST_F(AtomicFileTest, ReplacesWhatIsThere) {
  write_file(target, "old");
  {
    AtomicFile file(files, target);
    file.write(as_bytes("new"));
    EXPECT_EQ(read_file(target), "old");
    file.close();
  }
  EXPECT_EQ(read_file(target), "new");
}

TEST_F(AtomicFileTest, DestroyedUncommittedLeavesTheTargetAndNothingElse) {
  write_file(target, "old");
  { AtomicFile(files, target).write(as_bytes("new")); }
  EXPECT_THAT(names(), ElementsAre("a.txt"));
  EXPECT_EQ(read_file(target), "old");
}

TEST_F(AtomicFileTest, ABareNameMeansThePresentFolder) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  AtomicFile file(files, "b.txt");
  file.write(as_bytes("x"));
  file.commit();
  std::filesystem::current_path(before);
  EXPECT_THAT(names(), ElementsAre("b.txt"));
}

TEST_F(AtomicFileTest, FinishedButNotCommittedTheTargetIsWhatItWas) {
  write_file(target, "old");
  AtomicFile file(files, target);
  file.write(as_bytes("new"));
  file.finish();
  EXPECT_EQ(read_file(target), "old");
  EXPECT_THROW(AtomicFile(files, target), Error);  // still locked
  EXPECT_THROW(file.write(as_bytes("more")), Error);
  EXPECT_THROW(file.finish(), Error);
  file.commit();
  EXPECT_EQ(read_file(target), "new");
  EXPECT_THROW(file.commit(), Error);
  EXPECT_THAT(names(), ElementsAre("a.txt"));
}

TEST_F(AtomicFileTest, FinishedAndDestroyedLeavesTheTargetAndNothingElse) {
  write_file(target, "old");
  {
    AtomicFile file(files, target);
    file.write(as_bytes("new"));
    file.finish();
  }
  EXPECT_EQ(read_file(target), "old");
  EXPECT_THAT(names(), ElementsAre("a.txt"));
}

TEST_F(AtomicFileTest, CommittedUnderAnotherName) {
  const std::string other = directory / "b.txt";
  write_file(target, "old a");
  write_file(other, "old b");
  AtomicFile file(files, target);
  file.write(as_bytes("new"));
  file.finish();
  file.commit_as(other);
  EXPECT_EQ(file.path(), other);
  EXPECT_EQ(read_file(other), "new");
  EXPECT_EQ(read_file(target), "old a");
  EXPECT_THAT(names(), ElementsAre("a.txt", "b.txt"));
  EXPECT_THROW(file.commit_as(other), Error);
}

TEST_F(AtomicFileTest, CommittedUnderAnotherNameBeforeItIsFinished) {
  AtomicFile file(files, target);
  file.write(as_bytes("new"));
  file.commit_as(directory / "b.txt");
  EXPECT_EQ(read_file(directory / "b.txt"), "new");
  EXPECT_THAT(names(), ElementsAre("b.txt"));
}

TEST_F(AtomicFileTest, ANameThatIsAFolderIsRefusedAndTheFileCanStillBeCommitted) {
  std::filesystem::create_directory(directory / "folder");
  AtomicFile file(files, target);
  file.write(as_bytes("new"));
  EXPECT_EQ(error_of([&] { file.commit_as(directory / "folder"); }).kind(),
            ErrorKind::invalid_argument);
  file.commit();
  EXPECT_THAT(names(), ElementsAre("a.txt", "folder"));
}

TEST_F(AtomicFileTest, UnderAnothersLock) {
  AtomicFile first(files, target);
  AtomicFile second(files, directory / "b.txt", first);
  second.write(as_bytes("second"));
  second.finish();
  second.commit();
  EXPECT_EQ(read_file(directory / "b.txt"), "second");
  first.commit();
  const Error error = error_of([&] { AtomicFile(files, directory / "c.txt", first); });
  EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);  // the lock file is gone
}

TEST_F(AtomicFileTest, AbandonedPartialFilesAreRemovedByName) {
  for (const char* name :
       {".a.txt.partial", ".b.txt.partial", ".a.txt", "a.txt.partial", "..partial", ".partial"}) {
    write_file(directory / name, "left");
  }
  const AtomicFile held(files, directory / "b.txt");
  remove_abandoned_partials(files, directory.path(), [](std::string_view name) {
    EXPECT_NE(name, "");
    return name == "a.txt" || name == "b.txt";
  });
  EXPECT_THAT(names(),
              ElementsAre("..partial", ".a.txt", ".b.txt.partial", ".partial", "a.txt.partial"));
}

TEST_F(AtomicFileTest, ASecondWriterOfTheTargetIsRefused) {
  AtomicFile first(files, target);
  try {
    AtomicFile second(files, target);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::busy);
    EXPECT_NE(error.hint(), "");
  }
  first.write(as_bytes("first"));
  first.commit();
  EXPECT_EQ(read_file(target), "first");
  AtomicFile third(files, target);  // the lock was released
  third.write(as_bytes("third"));
  third.commit();
  EXPECT_EQ(read_file(target), "third");
}

TEST_F(AtomicFileTest, APartialFileOfAKilledProcessIsOverwritten) {
  write_file(partial, "left behind, longer than what follows");
  AtomicFile file(files, target);
  file.write(as_bytes("short"));
  file.commit();
  EXPECT_THAT(names(), ElementsAre("a.txt"));
  EXPECT_EQ(read_file(target), "short");
}

TEST_F(AtomicFileTest, RefusesTargetsThatAreNoFiles) {
  EXPECT_THROW(AtomicFile(files, "/dev/null"), Error);
  EXPECT_THROW(AtomicFile(files, directory.path()), Error);
  ASSERT_EQ(::mkfifo(target.c_str(), 0600), 0);
  EXPECT_THROW(AtomicFile(files, target), Error);
  EXPECT_THAT(names(), ElementsAre("a.txt"));
}

TEST_F(AtomicFileTest, ALinkInThePlaceOfThePartialFileIsRefused) {
  const std::string victim = directory / "victim";
  for (const bool dangling : {false, true}) {
    if (!dangling) write_file(victim, "precious");
    std::filesystem::create_symlink(victim, partial);
    const Error error = error_of([&] { AtomicFile(files, target).write(as_bytes("new")); });
    EXPECT_EQ(error.kind(), ErrorKind::already_exists);
    EXPECT_EQ(error.path(), partial);
    EXPECT_THAT(error.reason(), HasSubstr("symbolic link"));
    EXPECT_THAT(error.hint(), HasSubstr("remove the link"));
    EXPECT_FALSE(std::filesystem::exists(target));
    if (dangling) {
      EXPECT_FALSE(std::filesystem::exists(victim));
    } else {
      EXPECT_EQ(read_file(victim), "precious");
    }
    std::filesystem::remove(partial);
    std::filesystem::remove(victim);
  }
}

// The target is a link to a second link, which leads to a file in another folder.
TEST_F(AtomicFileTest, ALinkAsTheTargetIsFollowedAndStays) {
  using std::filesystem::perms;
  std::filesystem::create_directory(directory / "disk");
  std::filesystem::create_symlink("disk/b.txt", directory / "second");
  std::filesystem::create_symlink(directory / "second", target);
  for (const bool dangling : {true, false}) {
    if (!dangling) {
      write_file(directory / "disk/b.txt", "old");
      std::filesystem::permissions(directory / "disk/b.txt", perms{0600});
    }
    AtomicFile file(files, target);
    EXPECT_EQ(file.path(), target);
    EXPECT_THAT(files.list(directory / "disk"), testing::Contains(".b.txt.partial"));
    EXPECT_EQ(error_of([&] { AtomicFile(files, directory / "disk/b.txt"); }).kind(),
              ErrorKind::busy);
    file.write(as_bytes("new"));
    if (!dangling) {
      EXPECT_EQ(read_file(target), "old");
    }
    file.commit();
    EXPECT_THAT(names(), ElementsAre("a.txt", "disk", "second"));
    EXPECT_THAT(files.list(directory / "disk"), ElementsAre("b.txt"));
    EXPECT_TRUE(std::filesystem::is_symlink(target));
    EXPECT_TRUE(std::filesystem::is_symlink(directory / "second"));
    EXPECT_EQ(read_file(directory / "disk/b.txt"), "new");
    if (!dangling) {
      EXPECT_EQ(std::filesystem::status(target).permissions(), perms{0600});
    }
  }
}

TEST_F(AtomicFileTest, ALinkThatLeadsNowhereOrInACircleIsRefused) {
  std::filesystem::create_symlink("no/such/file", target);
  const Error nowhere = error_of([&] { AtomicFile(files, target); });
  EXPECT_EQ(nowhere.kind(), ErrorKind::not_found);
  EXPECT_EQ(nowhere.path(), target);
  std::filesystem::create_symlink("two", directory / "one");
  std::filesystem::create_symlink("one", directory / "two");
  EXPECT_EQ(error_of([&] { AtomicFile(files, directory / "one"); }).path(), directory / "one");
  std::filesystem::create_symlink(directory.path(), directory / "folder");
  EXPECT_THAT(error_of([&] { AtomicFile(files, directory / "folder"); }).reason(),
              HasSubstr("is a folder"));
  EXPECT_THAT(names(), ElementsAre("a.txt", "folder", "one", "two"));
}

TEST_F(AtomicFileTest, TheNameItIsCommittedUnderMayBeALink) {
  std::filesystem::create_directory(directory / "disk");
  std::filesystem::create_symlink("disk/c.txt", directory / "b.txt");
  AtomicFile file(files, target);
  file.write(as_bytes("new"));
  file.commit_as(directory / "b.txt");
  EXPECT_THAT(names(), ElementsAre("b.txt", "disk"));
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "b.txt"));
  EXPECT_EQ(read_file(directory / "disk/c.txt"), "new");
}

// Whichever step fails, the error names the target: users don't know the partial file's name.
TEST_F(AtomicFileTest, ErrorsNameWhatWasGiven) {
  const uint64_t runs = for_every_fault(
      files, EIO,
      [&](FileSystem& faulty) {
        const auto write = [&] {
          AtomicFile file(faulty, target);
          file.write(as_bytes("new"));
          file.commit();
        };
        try {
          write();
        } catch (const Error& error) {
          EXPECT_THAT(error.path(), AnyOf(target, directory.path())) << error.what();
          throw;
        }
      },
      [](const FaultyFileSystem&) {});
  EXPECT_GT(runs, 8u);
  const AtomicFile held(files, target);
  EXPECT_EQ(error_of([&] { AtomicFile(files, target); }).path(), target);
  const Error missing = error_of([&] { AtomicFile(files, directory / "no/a.txt"); });
  EXPECT_EQ(missing.path(), directory / "no/a.txt");
  EXPECT_THAT(missing.hint(), HasSubstr("folder"));
}

TEST_F(AtomicFileTest, PermissionsOfTheOldFileStay) {
  using std::filesystem::perms;
  const std::pair<perms, perms> cases[] = {{perms{0600}, perms{0600}},
                                           {perms{0664}, perms{0664}},
                                           {perms{0755}, perms{0755}},
                                           {perms{0440}, perms{0640}}};  // the owner may write
  for (const auto& [before, after] : cases) {
    write_file(target, "old");
    std::filesystem::permissions(target, before);
    AtomicFile file(files, target);
    EXPECT_EQ(std::filesystem::status(partial).permissions(), after);
    file.write(as_bytes("new"));
    file.commit();
    EXPECT_EQ(std::filesystem::status(target).permissions(), after);
    std::filesystem::remove(target);
  }
}

// If memory runs out while the partial file is removed, the file stays and the process continues.
TEST_F(AtomicFileTest, ItsDestructorNeverThrows) {
  FaultyFileSystem faulty(files);
  {
    AtomicFile file(faulty, target);
    faulty.fail_call(faulty.calls() + 1, FaultyFileSystem::Fault::no_memory, 0);
  }
  EXPECT_EQ(faulty.failed_call(), "remove .a.txt.partial");
}

TEST_F(AtomicFileTest, AMissingFolderIsNotFound) {
  try {
    AtomicFile file(files, directory / "no/such/folder");
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
  }
}

TEST_F(AtomicFileTest, NothingCanBeAddedAfterAFailedWrite) {
  FaultyFileSystem faulty(files);
  AtomicFile file(faulty, target);
  faulty.fail_call(faulty.calls() + 1, FaultyFileSystem::Fault::error, ENOSPC);
  EXPECT_THROW(file.write(as_bytes("one")), Error);
  EXPECT_THROW(file.write(as_bytes("two")), Error);
  EXPECT_THROW(file.commit(), Error);
  EXPECT_THAT(names(), IsEmpty());
}

// Writes a TFRecord file that is small enough to let each call fail in turn.
void write_records(FileSystem& files, const std::string& path, Compression compression) {
  RecordWriter writer(files, path, {.compression = compression, .compression_level = 0});
  const std::string record(100000, 'x');
  for (int i = 0; i < 9; ++i) writer.write(as_bytes(record));
  writer.close();
}

struct FaultCase {
  const char* name;
  int code;
  bool target_exists;
  Compression compression;
};

class FaultyWrite : public AtomicFileTest, public testing::WithParamInterface<FaultCase> {
 protected:
  std::string complete() {
    const std::string path = directory / "complete";
    write_records(files, path, GetParam().compression);
    const std::string content = read_file(path);
    std::filesystem::remove(path);
    return content;
  }

  void reset() {
    std::filesystem::remove(target);
    std::filesystem::remove(partial);
    if (GetParam().target_exists) write_file(target, "old");
  }

  // Expects the old file (or none) or the complete new one.
  void expect_old_or(const std::string& expected) {
    if (std::filesystem::exists(target)) {
      const std::string content = read_file(target);
      EXPECT_TRUE(content == expected || (GetParam().target_exists && content == "old"))
          << content.size() << " bytes, of " << expected.size();
    } else {
      EXPECT_FALSE(GetParam().target_exists) << "the old file is gone";
    }
  }
};

TEST_P(FaultyWrite, EveryCallFailing) {
  const std::string expected = complete();
  const uint64_t runs = for_every_fault(
      files, GetParam().code,
      [&](FileSystem& faulty) { write_records(faulty, target, GetParam().compression); },
      [&](const FaultyFileSystem& faulty) {
        expect_old_or(expected);
        EXPECT_THAT(names(), AnyOf(IsEmpty(), ElementsAre("a.txt")));
        EXPECT_TRUE(!faulty.failed_call().empty() || read_file(target) == expected);
      },
      [&] { reset(); });
  EXPECT_GT(runs, 10u);  // status, resolve_link, lock, create, writes, sync, close, rename, ...
}

TEST_P(FaultyWrite, KilledAtEveryCall) {
  const std::string expected = complete();
  for_every_kill(
      files, FaultyFileSystem::Fault::kill,
      [&](FileSystem& faulty) { write_records(faulty, target, GetParam().compression); },
      [&] {
        expect_old_or(expected);
        // The next run gets the lock and removes the files of the killed run.
        write_records(files, target, GetParam().compression);
        EXPECT_EQ(read_file(target), expected);
        EXPECT_THAT(names(), ElementsAre("a.txt"));
      },
      [&] { reset(); });
}

TEST_P(FaultyWrite, PowerLostAtEveryCall) {
  const std::string expected = complete();
  for_every_kill(
      files, FaultyFileSystem::Fault::power_loss,
      [&](FileSystem& faulty) { write_records(faulty, target, GetParam().compression); },
      [&] { expect_old_or(expected); }, [&] { reset(); });
}

INSTANTIATE_TEST_SUITE_P(Faults, FaultyWrite,
                         testing::Values(FaultCase{"EioNewFile", EIO, false, Compression::none},
                                         FaultCase{"EioOldFile", EIO, true, Compression::none},
                                         FaultCase{"DiskFull", ENOSPC, true, Compression::none},
                                         FaultCase{"DiskFullGzip", ENOSPC, true,
                                                   Compression::gzip}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace recordpipe
