#include "recordpipe/trainer/checkpoint/checkpoint.h"

#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "recordpipe/trainer/checkpoint/safetensors.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"
#include "tests/trainer/test_networks.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;

Network checkpointed_network() {
  Network network({3, 4, 4});
  const NodeId x = network.batch_norm(network.conv2d(0, "conv", {.filters = 4}), "bn");
  network.softmax_cross_entropy(network.dense(x, "dense", 3));
  return network;
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() { randomize(variables, 1); }

  void write(const TrainingState& state = {}) {
    write_checkpoint(posix_file_system(), path, variables, state);
  }
  TrainingState read(Variables& to) { return read_checkpoint(posix_file_system(), path, to); }

  // Returns the averages of the first trained variable.
  static std::vector<float> averages(const Variables& of) { return of.read(0, Slot::average); }

  TemporaryDirectory directory;
  const std::string path = directory / "a.safetensors";
  const Network network = checkpointed_network();
  ReferenceVariables<float> variables{network.variables()};
};

TEST_F(CheckpointTest, KeepsAllOfTheState) {
  const TrainingState state = {.step = kMaxStep,
                               .seed = UINT64_MAX - 1,
                               .data_seed = uint64_t{1} << 63,
                               .input_state = std::string("\0\xff place", 8),
                               .plan_hash = 0x00ffff0000000001,
                               .settings = {{"a \"name\"", "\u00e4\n"}, {"empty", ""}},
                               .validation_accuracy = 1.0 / 3};
  write(state);
  for (const TrainingState& back :
       {read(variables), read_training_state(posix_file_system(), path)}) {
    EXPECT_EQ(back.step, state.step);
    EXPECT_EQ(back.seed, state.seed);
    EXPECT_EQ(back.data_seed, state.data_seed);
    EXPECT_EQ(back.input_state, state.input_state);
    EXPECT_EQ(back.plan_hash, state.plan_hash);
    EXPECT_EQ(back.settings, state.settings);
    EXPECT_EQ(back.validation_accuracy, state.validation_accuracy);
  }
  write({.step = kMaxStep + 1});
  EXPECT_EQ(error_of([&] { read(variables); }).kind(), ErrorKind::corrupted);
  write({.step = 1});
  EXPECT_EQ(read(variables).validation_accuracy, std::nullopt);
  EXPECT_EQ(read(variables).input_state, "");
}

TEST_F(CheckpointTest, KeepsAverages) {
  variables.start_averages();
  std::vector<float> mine(averages(variables).size(), 0.375f);
  variables.write(0, mine, Slot::average);
  write();
  ReferenceVariables<float> other(network.variables());
  read(other);
  ASSERT_TRUE(other.has_averages()) << "if the file has averages";
  EXPECT_EQ(averages(other), mine);
}

TEST_F(CheckpointTest, StartsAveragesFromTheValuesWhereTheFileHasNone) {
  write();
  ReferenceVariables<float> other(network.variables());
  randomize(other, 2);
  other.start_averages();
  read(other);
  EXPECT_EQ(other.read(0, Slot::value), variables.read(0, Slot::value));
  EXPECT_EQ(averages(other), variables.read(0, Slot::value));
  ReferenceVariables<float> without(network.variables());
  read(without);
  EXPECT_FALSE(without.has_averages());
}

TEST_F(CheckpointTest, HasTheSameBytesForTheSameState) {
  const TrainingState state = {.step = 3, .settings = {{"a", "1"}, {"b", "2"}}};
  write(state);
  const std::string first = read_file(path);
  write(state);
  EXPECT_EQ(read_file(path), first);
  write({.step = 3, .settings = {{"a", "1"}, {"b", "3"}}});
  EXPECT_NE(read_file(path), first);
}

TEST_F(CheckpointTest, ThatNamesNoStepIsRefused) {
  write();
  std::string bytes = read_file(path);
  bytes.replace(bytes.find("\"step\""), 6, "\"stop\"");
  write_file(path, bytes);
  EXPECT_EQ(error_of([&] { read(variables); }).kind(), ErrorKind::corrupted);
  EXPECT_EQ(error_of([&] { read_training_state(posix_file_system(), path); }).kind(),
            ErrorKind::corrupted);
}

TEST_F(CheckpointTest, WhoseChecksumHasLostItsNameIsRefused) {
  write();
  std::string bytes = read_file(path);
  bytes.replace(bytes.find("\"crc32c\""), 8, "\"crc32d\"");
  write_file(path, bytes);
  EXPECT_THAT(error_of([&] { read(variables); }).reason(), HasSubstr("its checksum is missing"));
}

// A file of another program, without a checksum.
TEST_F(CheckpointTest, OfAnotherProgramMustHoldNumbers) {
  std::map<std::string, std::vector<float>> values;
  const auto write_others = [&] {
    std::map<std::string, SafetensorsTensor> tensors;
    for (VariableId id = 0; id < variables.specs().size(); ++id) {
      const VariableSpec& spec = variables.specs()[id];
      values.try_emplace(spec.name, variables.read(id, Slot::value));
      tensors.emplace(spec.name, SafetensorsTensor::floats(spec.shape, values.at(spec.name)));
      if (!spec.trained) continue;
      values.try_emplace(spec.name + "/momentum", variables.read(id, Slot::momentum));
      tensors.emplace(spec.name + "/momentum",
                      SafetensorsTensor::floats(spec.shape, values.at(spec.name + "/momentum")));
    }
    write_safetensors(posix_file_system(), path, tensors, {{"step", "7"}});
  };
  write_others();
  EXPECT_EQ(read(variables).step, 7u);
  const std::string& name = variables.specs()[0].name;
  values.at(name).back() = std::numeric_limits<float>::quiet_NaN();
  write_others();
  const Error error = error_of([&] { read(variables); });
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
  EXPECT_THAT(error.reason(), HasSubstr(name));
}

}  // namespace
}  // namespace recordpipe
