#include "recordpipe/trainer/checkpoint/checkpoint_folder.h"

#include <cerrno>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/trainer/checkpoint/safetensors.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"
#include "tests/trainer/checkpoint/checkpoint_folder_fixture.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(CheckpointFolderTest, GivesBackWhatWasSaved) {
  CheckpointFolder folder(posix_file_system(), job_dir);
  EXPECT_FALSE(folder.restore(variables)) << "nothing is there yet";
  const std::vector<float> saved = numbers(variables);
  EXPECT_EQ(folder.save(variables, {.step = 120}), job_dir + "/checkpoint-120.safetensors");

  fill(variables, 2);
  ASSERT_NE(numbers(variables), saved);
  const auto restored = folder.restore(variables);
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->state.step, 120u);
  EXPECT_EQ(numbers(variables), saved);
}

TEST_F(CheckpointFolderTest, WritesTheSameBytesForTheSameNumbers) {
  CheckpointFolder folder(posix_file_system(), job_dir);
  const std::string first = read_file(folder.save(variables, {.step = 7}));
  EXPECT_EQ(read_file(folder.save(variables, {.step = 7})), first);
}

TEST_F(CheckpointFolderTest, KeepsTheNewestAndNothingElseIsTouched) {
  CheckpointFolder folder(posix_file_system(), job_dir, 2);
  write_file(job_dir + "/checkpoint-mine.safetensors", "x");
  write_file(job_dir + "/checkpoint-1.safetensors.bak", "x");
  for (const uint64_t step : {8, 9, 10, 11}) folder.save(variables, {.step = step});
  EXPECT_THAT(names(), ElementsAre("checkpoint-1.safetensors.bak", "checkpoint-10.safetensors",
                                   "checkpoint-11.safetensors", "checkpoint-mine.safetensors"));
}

TEST_F(CheckpointFolderTest, SavesWhereAnOldOneCannotBeRemoved) {
  FaultyFileSystem faulty(posix_file_system());
  CheckpointFolder folder(faulty, job_dir, 1);
  folder.save(variables, {.step = 1});
  const uint64_t before = faulty.calls();
  folder.save(variables, {.step = 2});
  // The last call of the previous save has removed the first checkpoint.
  const uint64_t removal = faulty.calls() + faulty.calls() - before;
  faulty.fail_call(removal, FaultyFileSystem::Fault::error, EPERM);
  EXPECT_EQ(folder.save(variables, {.step = 3}), job_dir + "/checkpoint-3.safetensors");
  EXPECT_EQ(faulty.failed_call(), "remove checkpoint-2.safetensors");
  folder.save(variables, {.step = 4});
  EXPECT_THAT(names(), ElementsAre("checkpoint-4.safetensors")) << "it was tried again";
}

// The next run is configured to keep fewer, perhaps by mistake.
TEST_F(CheckpointFolderTest, RemovesWhatIsTooManyWhenItSaves) {
  {
    CheckpointFolder folder(posix_file_system(), job_dir);
    for (const uint64_t step : {1, 2, 3, 4}) folder.save(variables, {.step = step});
  }
  write_file(job_dir + "/checkpoint-4.safetensors", "damaged");
  CheckpointFolder folder(posix_file_system(), job_dir, 1);
  EXPECT_THAT(names(), testing::SizeIs(4)) << "which one is intact isn't known yet";
  ASSERT_EQ(folder.restore(variables)->state.step, 3u);
  EXPECT_THAT(names(), testing::SizeIs(4)) << "a run may only evaluate";
  folder.save(variables, {.step = 5});
  EXPECT_THAT(names(), ElementsAre("checkpoint-5.safetensors"));
}

TEST_F(CheckpointFolderTest, FallsBackToTheOneBeforeADamagedOne) {
  CheckpointFolder folder(posix_file_system(), job_dir);
  folder.save(variables, {.step = 1});
  const std::vector<float> saved = numbers(variables);
  fill(variables, 2);
  const std::string second = folder.save(variables, {.step = 2});
  std::filesystem::resize_file(second, 1000);
  write_file(job_dir + "/checkpoint-3.safetensors", "");

  const auto restored = folder.restore(variables);
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->state.step, 1u);
  EXPECT_EQ(numbers(variables), saved);
  ASSERT_EQ(restored->damaged.size(), 2u);
  EXPECT_EQ(restored->damaged[0].path(), job_dir + "/checkpoint-3.safetensors");
  EXPECT_EQ(restored->damaged[1].path(), second);
}

// Otherwise every start would resume from a copy under another name.
TEST_F(CheckpointFolderTest, TakesNoFileOfAnotherStepThanItsNameSays) {
  CheckpointFolder folder(posix_file_system(), job_dir);
  write_file(job_dir + "/checkpoint-99.safetensors",
             read_file(folder.save(variables, {.step = 6})));
  const std::vector<float> saved = numbers(variables);
  fill(variables, 2);
  std::filesystem::rename(folder.save(variables, {.step = 8}),
                          job_dir + "/checkpoint-010.safetensors");
  const auto restored = folder.restore(variables);
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->path, job_dir + "/checkpoint-6.safetensors");
  EXPECT_EQ(numbers(variables), saved);
  ASSERT_EQ(restored->damaged.size(), 1u);
  EXPECT_EQ(restored->damaged[0].reason(), "holds step 6, not 99");

  std::filesystem::remove(job_dir + "/checkpoint-6.safetensors");
  fill(variables, 3);
  const std::vector<float> before = numbers(variables);
  EXPECT_EQ(error_of([&] { folder.restore(variables); }).kind(), ErrorKind::corrupted);
  EXPECT_EQ(numbers(variables), before);
}

TEST_F(CheckpointFolderTest, PassesOverAFolderWithACheckpointsName) {
  CheckpointFolder folder(posix_file_system(), job_dir, 1);
  std::filesystem::create_directories(job_dir + "/checkpoint-20.safetensors/in");
  std::filesystem::create_directories(job_dir + "/checkpoint-1.safetensors/in");
  folder.save(variables, {.step = 3});
  const auto restored = folder.restore(variables);
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->state.step, 3u);
  EXPECT_TRUE(restored->damaged.empty());
}

// After a fallback to an older checkpoint, new checkpoints must not be removed as too old.
TEST_F(CheckpointFolderTest, KeepsWhatItSavesBesideDamagedNewerOnes) {
  CheckpointFolder folder(posix_file_system(), job_dir, 1);
  write_file(job_dir + "/checkpoint-700.safetensors", "damaged");
  write_file(job_dir + "/checkpoint-600.safetensors", "damaged");
  for (const uint64_t step : {500, 501}) folder.save(variables, {.step = step});
  EXPECT_THAT(names(), ElementsAre("checkpoint-501.safetensors", "checkpoint-600.safetensors",
                                   "checkpoint-700.safetensors"));
  const auto restored = folder.restore(variables);
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->state.step, 501u);
}

TEST_F(CheckpointFolderTest, ListsTheNewestFirstByNumber) {
  CheckpointFolder folder(posix_file_system(), job_dir);
  EXPECT_FALSE(folder.has_checkpoint());
  folder.save_best(variables, {.step = 50, .validation_accuracy = 0.5});
  EXPECT_FALSE(folder.has_checkpoint()) << "a run never resumes from the best";
  EXPECT_FALSE(folder.restore(variables));
  for (const uint64_t step : {9, 100, 0, 10}) folder.save(variables, {.step = step});
  std::vector<uint64_t> steps;
  for (const CheckpointFile& file : list_checkpoints(posix_file_system(), job_dir)) {
    steps.push_back(file.step);
    EXPECT_EQ(file.path, job_dir + "/checkpoint-" + std::to_string(file.step) + ".safetensors");
  }
  EXPECT_THAT(steps, ElementsAre(100, 10, 9, 0));
}

TEST_F(CheckpointFolderTest, KeepsTheBestBesideTheNewest) {
  CheckpointFolder folder(posix_file_system(), job_dir, 1);
  EXPECT_EQ(folder.best_accuracy(), std::nullopt);
  EXPECT_EQ(folder.save_best(variables, {.step = 1, .validation_accuracy = 0.25}),
            job_dir + "/best.safetensors");
  for (const uint64_t step : {2, 3}) folder.save(variables, {.step = step});
  EXPECT_EQ(folder.best_accuracy(), 0.25);
  for (const char* none : {"nan", "inf", "7", "-0.5"}) {
    write_safetensors(posix_file_system(), job_dir + "/best.safetensors", {},
                      {{"step", "5"}, {"validation_accuracy", none}});
    EXPECT_EQ(folder.best_accuracy(), std::nullopt) << none;
  }
  write_file(job_dir + "/best.safetensors", "damaged");
  EXPECT_EQ(folder.best_accuracy(), std::nullopt) << "the next one replaces it";
  std::filesystem::remove(job_dir + "/best.safetensors");
  std::filesystem::create_directory(job_dir + "/best.safetensors");
  EXPECT_EQ(folder.best_accuracy(), std::nullopt);
}

// Another process may remove the oldest checkpoints after the folder was listed. Here the newest is
// missing, so that the effect is visible: a dangling link is listed but can't be opened.
TEST_F(CheckpointFolderTest, PassesOverWhatHasDisappeared) {
  CheckpointFolder folder(posix_file_system(), job_dir);
  folder.save(variables, {.step = 1});
  std::filesystem::create_symlink(job_dir + "/gone", job_dir + "/checkpoint-2.safetensors");
  std::filesystem::create_symlink("checkpoint-3.safetensors",
                                  job_dir + "/checkpoint-3.safetensors");
  const auto restored = folder.restore(variables);
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->state.step, 1u);
  EXPECT_TRUE(restored->damaged.empty());
}

TEST_F(CheckpointFolderTest, NoticesAFlippedBitWhereverItIs) {
  CheckpointFolder folder(posix_file_system(), job_dir);
  folder.save(variables, {.step = 1});
  const std::string first = read_file(job_dir + "/checkpoint-1.safetensors");
  fill(variables, 2);
  const std::string path = folder.save(variables, {.step = 2});
  const std::string second = read_file(path);
  const std::vector<float> saved = numbers(variables);
  size_t noticed = 0;
  for (size_t at = 0; at < second.size(); ++at) {
    std::string damaged = second;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    write_file(path, damaged);
    std::optional<RestoredCheckpoint> restored;
    try {
      restored = folder.restore(variables);
    } catch (const Error& error) {
      FAIL() << "bit of byte " << at << ": " << error.what();
    }
    if (restored->state.step == 1) {
      ++noticed;
    } else {
      ASSERT_EQ(restored->state.step, 2u) << "bit of byte " << at;
      ASSERT_EQ(numbers(variables), saved) << "bit of byte " << at;
    }
  }
  // Bits in the name of the checksum are an exception: a file without a checksum is accepted.
  EXPECT_GE(noticed, second.size() - 8);
}

TEST_F(CheckpointFolderTest, TakesAnotherProgramsFile) {
  CheckpointFolder folder(posix_file_system(), job_dir);
  std::map<std::string, SafetensorsTensor> tensors;
  for (VariableId id = 0; id < variables.specs().size(); ++id) {
    const VariableSpec& spec = variables.specs()[id];
    tensors[spec.name] = SafetensorsTensor::floats(spec.shape, variables.read(id, Slot::value));
    if (spec.trained)
      tensors[spec.name + "/momentum"] =
          SafetensorsTensor::floats(spec.shape, variables.read(id, Slot::momentum));
  }
  write_safetensors(posix_file_system(), job_dir + "/checkpoint-5.safetensors", tensors,
                    {{"step", "5"}});
  const std::vector<float> saved = numbers(variables);
  fill(variables, 2);
  ASSERT_EQ(folder.restore(variables)->state.step, 5u);
  EXPECT_EQ(numbers(variables), saved);
}

TEST_F(CheckpointFolderTest, SavesNothingThatIsNotFinite) {
  CheckpointFolder folder(posix_file_system(), job_dir);
  folder.save(variables, {.step = 1});
  for (const float value :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()})
    for (const Slot slot : {Slot::value, Slot::momentum}) {
      fill(variables, 1);
      std::vector<float> values = variables.read(0, slot);
      values.back() = value;
      variables.write(0, values, slot);
      const Error error = error_of([&] { folder.save(variables, {.step = 2}); });
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_THAT(error.what(), HasSubstr("not saved: conv/weights"));
    }
  EXPECT_THAT(names(), ElementsAre("checkpoint-1.safetensors"));
}

TEST_F(CheckpointFolderTest, DoesNotStartAnewWhereAllAreDamaged) {
  CheckpointFolder folder(posix_file_system(), job_dir);
  write_file(job_dir + "/checkpoint-3.safetensors", "short");
  const Error error = error_of([&] { folder.restore(variables); });
  EXPECT_EQ(error.kind(), ErrorKind::truncated);
  EXPECT_THAT(error.what(), HasSubstr("no checkpoint in this folder is intact"));
}

TEST_F(CheckpointFolderTest, RefusesAnotherNetworks) {
  CheckpointFolder folder(posix_file_system(), job_dir);
  folder.save(variables, {.step = 1});
  const std::vector<float> before = numbers(variables);

  ReferenceVariables<float> wider(small_network(5).variables());
  const Error error = error_of([&] { folder.restore(wider); });
  EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
  EXPECT_THAT(error.what(), HasSubstr("'conv/weights' is 4x3x3x3, not 5x3x3x3"));

  Network fewer({3, 4, 4});
  fewer.softmax_cross_entropy(fewer.dense(fewer.conv2d(0, "conv", {.filters = 4}), "dense", 3));
  ReferenceVariables<float> rest(fewer.variables());
  EXPECT_EQ(error_of([&] { folder.restore(rest); }).kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(numbers(rest), std::vector<float>(numbers(rest).size(), 0)) << "nothing was written";
}

}  // namespace
}  // namespace recordpipe
