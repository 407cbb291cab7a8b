// Tests a CheckpointFolder on full disks, after faults, and beside other runs.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/trainer/checkpoint/checkpoint_folder.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/temporary_directory.h"
#include "tests/trainer/checkpoint/checkpoint_folder_fixture.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// An old checkpoint is removed to make room, but never the newest intact one, also if there are
// fewer than may be kept.
TEST_F(CheckpointFolderTest, MakesRoomOnAFullDisk) {
  for (const size_t keep : {1, 2, 3, 9}) {
    const std::string job = job_dir + std::to_string(keep);
    FaultyFileSystem faulty(posix_file_system());
    CheckpointFolder folder(faulty, job, keep);
    for (const uint64_t step : {1, 2, 3}) folder.save(variables, {.step = step});
    faulty.fail_call(faulty.calls() + 7, FaultyFileSystem::Fault::error, ENOSPC);
    const auto save = [&] { folder.save(variables, {.step = 4}); };
    if (keep == 1) {
      EXPECT_EQ(error_of(save).kind(), ErrorKind::no_space);
    } else {
      save();
    }
    EXPECT_FALSE(faulty.failed_call().empty());
    const auto files = list_checkpoints(posix_file_system(), job);
    EXPECT_EQ(files.size(), std::min<size_t>(keep, 3));
    EXPECT_EQ(files.front().step, keep == 1 ? 3u : 4u);
  }
}

// Otherwise a disk that others have filled would cost all checkpoints but one.
TEST_F(CheckpointFolderTest, RemovesOneOnADiskThatStaysFull) {
  CheckpointFolder folder(posix_file_system(), job_dir, 9);
  for (const uint64_t step : {1, 2, 3, 4}) folder.save(variables, {.step = step});
  std::vector<ErrorKind> kinds;
  {
    const FileSizeLimit full_disk(100);
    for (const uint64_t step : {5, 6, 7})
      kinds.push_back(error_of([&] { folder.save(variables, {.step = step}); }).kind());
  }
  EXPECT_THAT(kinds, testing::Each(ErrorKind::no_space));
  EXPECT_THAT(names(), testing::SizeIs(3));
  folder.save(variables, {.step = 8});
  EXPECT_THAT(names(), testing::SizeIs(4));
}

// The next run is configured to keep fewer because checkpoints have filled the disk.
TEST_F(CheckpointFolderTest, RemovesWhatIsTooManyFirstOnAFullDisk) {
  {
    CheckpointFolder folder(posix_file_system(), job_dir, 9);
    for (const uint64_t step : {1, 2, 3, 4, 5, 6}) folder.save(variables, {.step = step});
  }
  CheckpointFolder folder(posix_file_system(), job_dir, 3);
  ASSERT_TRUE(folder.restore(variables));
  std::vector<size_t> kept;
  {
    const FileSizeLimit full_disk(100);
    for (const uint64_t step : {6, 7, 8, 9}) {
      EXPECT_EQ(error_of([&] { folder.save(variables, {.step = step}); }).kind(),
                ErrorKind::no_space);
      kept.push_back(names().size());
    }
  }
  EXPECT_THAT(kept, ElementsAre(6, 3, 2, 2)) << "none is removed to save a step again";
  folder.save(variables, {.step = 10});
  EXPECT_THAT(names(), ElementsAre("checkpoint-10.safetensors", "checkpoint-5.safetensors",
                                   "checkpoint-6.safetensors"));
}

// Such as "mv job /larger/disk && ln -s /larger/disk/job": it is still this run's folder.
TEST_F(CheckpointFolderTest, GoesOnInACopyOfItself) {
  CheckpointFolder folder(posix_file_system(), job_dir);
  folder.save(variables, {.step = 1});
  std::filesystem::copy(job_dir, directory / "copy", std::filesystem::copy_options::recursive);
  folder.save(variables, {.step = 5});
  std::filesystem::remove_all(job_dir);
  std::filesystem::create_directory_symlink(directory / "copy", job_dir);
  folder.save(variables, {.step = 2});
  EXPECT_THAT(names(), ElementsAre("checkpoint-1.safetensors", "checkpoint-2.safetensors"));
  EXPECT_EQ(error_of([&] { CheckpointFolder(posix_file_system(), job_dir); }).kind(),
            ErrorKind::busy);
}

// A run that was resumed there could not mark it.
TEST_F(CheckpointFolderTest, GoesOnInACopyMadeAfterAFullDisk) {
  FaultyFileSystem faulty(posix_file_system());
  faulty.fail_call(4, FaultyFileSystem::Fault::error, ENOSPC);
  CheckpointFolder folder(faulty, job_dir);
  EXPECT_EQ(faulty.failed_call(), "write .lock");
  folder.save(variables, {.step = 1});
  copy_to("copy");
  folder.save(variables, {.step = 5});
  replace_by("copy");
  folder.save(variables, {.step = 2});
  EXPECT_THAT(names(), ElementsAre("checkpoint-1.safetensors", "checkpoint-2.safetensors"));
}

// "rm -r" to start over, while the run still lives: it must not touch the checkpoints of the next
// one in the folder, which may have ended and have the names of its own.
TEST_F(CheckpointFolderTest, BelongsToTheRunThatCameAfterItWasRemoved) {
  CheckpointFolder first(posix_file_system(), job_dir, 1);
  first.save(variables, {.step = 1});
  std::filesystem::remove(job_dir + "/.lock");
  first.save(variables, {.step = 2});
  EXPECT_EQ(error_of([&] { CheckpointFolder(posix_file_system(), job_dir); }).kind(),
            ErrorKind::busy)
      << "it has locked the folder again";

  std::filesystem::remove_all(job_dir);
  {
    CheckpointFolder second(posix_file_system(), job_dir);
    second.save(variables, {.step = 2});
    EXPECT_EQ(error_of([&] { first.save(variables, {.step = 3}); }).kind(), ErrorKind::busy);
  }
  for (const auto& save : std::vector<std::function<void()>>{
           [&] { first.save(variables, {.step = 3}); },
           [&] { first.save_best(variables, {.step = 3, .validation_accuracy = 1}); }}) {
    const Error error = error_of(save);
    EXPECT_EQ(error.kind(), ErrorKind::busy);
    EXPECT_THAT(error.what(), HasSubstr(".lock: replaced during the run"));
  }
  EXPECT_THAT(names(), ElementsAre("checkpoint-2.safetensors"));
}

// Such as that of an older version, or one whose mark a full disk has refused.
TEST_F(CheckpointFolderTest, BelongsToAnotherRunWithoutAMark) {
  for (const bool fails_first : {false, true})
    for (const bool whole_folder : {false, true}) {
      FaultyFileSystem faulty(posix_file_system());
      CheckpointFolder first(faulty, job_dir, 1);
      first.save(variables, {.step = 5});
      std::filesystem::remove(job_dir + "/.lock");
      if (whole_folder) std::filesystem::remove_all(job_dir);
      if (fails_first) {
        faulty.fail_call(faulty.calls() + 2, FaultyFileSystem::Fault::error, EIO);
        EXPECT_EQ(error_of([&] { first.save(variables, {.step = 6}); }).kind(), ErrorKind::io);
        EXPECT_EQ(faulty.failed_call(), "lock .lock");
      }
      {
        CheckpointFolder second(posix_file_system(), job_dir);
        for (const uint64_t step : {3, 4, 6}) second.save(variables, {.step = step});
      }
      std::filesystem::resize_file(job_dir + "/.lock", 0);
      const std::vector<std::string> there = names();
      EXPECT_EQ(error_of([&] { first.save(variables, {.step = 7}); }).kind(), ErrorKind::busy);
      EXPECT_EQ(names(), there);
      std::filesystem::remove_all(job_dir);
    }
}

// An attempt that fails may leave a lock file without a mark. After the next save it has one: a
// copy without the newest checkpoint is still accepted.
TEST_F(CheckpointFolderTest, IsMadeAgainWhateverFails) {
  bool failed = true;
  for (uint64_t call = 1; failed; ++call) {
    FaultyFileSystem faulty(posix_file_system());
    CheckpointFolder folder(faulty, job_dir);
    folder.save(variables, {.step = 1});
    std::filesystem::remove_all(job_dir);
    faulty.fail_call(faulty.calls() + call, FaultyFileSystem::Fault::error, EIO);
    try {
      folder.save(variables, {.step = 2});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io) << error.what();
    }
    failed = !faulty.failed_call().empty();
    faulty.fail_call(0, FaultyFileSystem::Fault::error, EIO);  // never
    folder.save(variables, {.step = 3});
    copy_to("copy");
    folder.save(variables, {.step = 9});
    replace_by("copy");
    folder.save(variables, {.step = 4});
    EXPECT_EQ(list_checkpoints(posix_file_system(), job_dir).front().step, 4u)
        << faulty.failed_call();
    std::filesystem::remove_all(job_dir);
  }
}

// Half of a mark is no other run's.
TEST_F(CheckpointFolderTest, GoesOnInACopyWithHalfAMark) {
  CheckpointFolder folder(posix_file_system(), job_dir);
  folder.save(variables, {.step = 1});
  copy_to("copy");
  std::filesystem::resize_file(directory / "copy/.lock", 16);
  replace_by("copy");
  folder.save(variables, {.step = 2});
  EXPECT_THAT(names(), ElementsAre("checkpoint-1.safetensors", "checkpoint-2.safetensors"));
}

// The best checkpoint needs the place that superfluous ones take.
TEST_F(CheckpointFolderTest, MakesRoomForTheBest) {
  {
    CheckpointFolder folder(posix_file_system(), job_dir, 9);
    for (const uint64_t step : {1, 2, 3, 4}) folder.save(variables, {.step = step});
  }
  FaultyFileSystem faulty(posix_file_system());
  CheckpointFolder folder(faulty, job_dir, 2);
  ASSERT_TRUE(folder.restore(variables));
  faulty.fail_call(faulty.calls() + 3, FaultyFileSystem::Fault::error, ENOSPC);
  folder.save_best(variables, {.step = 4, .validation_accuracy = 1});
  EXPECT_THAT(faulty.failed_call(), HasSubstr("best.safetensors"));
  EXPECT_THAT(names(), ElementsAre("best.safetensors", "checkpoint-3.safetensors",
                                   "checkpoint-4.safetensors"));
  {
    const FileSizeLimit full_disk(100);
    EXPECT_EQ(error_of([&] {
                folder.save_best(variables, {.step = 4, .validation_accuracy = 1});
              }).kind(),
              ErrorKind::no_space);
  }
  EXPECT_THAT(names(), testing::SizeIs(3));
}

TEST_F(CheckpointFolderTest, IsOneRunsAtATime) {
  const CheckpointFolder folder(posix_file_system(), job_dir);
  EXPECT_EQ(error_of([&] { CheckpointFolder(posix_file_system(), job_dir); }).kind(),
            ErrorKind::busy);
}

TEST_F(CheckpointFolderTest, RemovesWhatAKilledRunHasLeft) {
  std::filesystem::create_directories(job_dir);
  write_file(job_dir + "/.checkpoint-3.safetensors.partial", "half");
  write_file(job_dir + "/.mine.partial", "kept");
  write_file(job_dir + "/.checkpoint-mine.safetensors.partial", "kept");
  const CheckpointFolder folder(posix_file_system(), job_dir);
  EXPECT_THAT(posix_file_system().list(job_dir),
              ElementsAre(".checkpoint-mine.safetensors.partial", ".lock", ".mine.partial"));
}

TEST_F(CheckpointFolderTest, KeepsTheOldCheckpointWhateverFails) {
  CheckpointFolder(posix_file_system(), job_dir).save(variables, {.step = 1});
  const std::vector<float> saved = numbers(variables);
  bool succeeded = false;
  for (uint64_t call = 1; !succeeded; ++call) {
    fill(variables, 2);
    FaultyFileSystem faulty(posix_file_system());
    faulty.fail_call(call, FaultyFileSystem::Fault::error, ENOSPC);
    try {
      CheckpointFolder(faulty, job_dir, 1).save(variables, {.step = 2});
      succeeded = faulty.failed_call().empty();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::no_space) << error.what();
    }
    const auto restored = CheckpointFolder(posix_file_system(), job_dir).restore(variables);
    ASSERT_TRUE(restored) << "after " << faulty.failed_call();
    EXPECT_TRUE(restored->damaged.empty());
    if (restored->state.step == 1) {
      EXPECT_EQ(numbers(variables), saved);
    }
    std::filesystem::remove(job_dir + "/checkpoint-2.safetensors");
    fill(variables, 1);
    CheckpointFolder(posix_file_system(), job_dir).save(variables, {.step = 1});
  }
}

}  // namespace
}  // namespace recordpipe
