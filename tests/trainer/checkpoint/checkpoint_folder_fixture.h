// A job folder, and the variables of a small network to save in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/trainer/backend/reference/reference_backend.h"
#include "tests/support/temporary_directory.h"
#include "tests/trainer/test_networks.h"

namespace recordpipe {

class CheckpointFolderTest : public testing::Test {
 protected:
  CheckpointFolderTest() { fill(variables, 1); }

  static Network small_network(size_t filters = 4) {
    Network network({3, 4, 4});
    const NodeId x = network.batch_norm(network.conv2d(0, "conv", {.filters = filters}), "bn");
    network.softmax_cross_entropy(network.dense(x, "dense", 3));
    return network;
  }

  // Returns the values and momenta of all variables, in order.
  static std::vector<float> numbers(const Variables& variables) {
    std::vector<float> all;
    for (VariableId id = 0; id < variables.specs().size(); ++id)
      for (const Slot slot : {Slot::value, Slot::momentum}) {
        if (slot == Slot::momentum && !variables.specs()[id].trained) continue;
        const std::vector<float> values = variables.read(id, slot);
        all.insert(all.end(), values.begin(), values.end());
      }
    return all;
  }

  // Sets values and momenta that depend on the seed.
  static void fill(Variables& variables, uint64_t seed) {
    randomize(variables, seed);
    for (VariableId id = 0; id < variables.specs().size(); ++id)
      if (variables.specs()[id].trained)
        variables.write(id, std::vector<float>(variables.specs()[id].size(), 0.25f * seed),
                        Slot::momentum);
  }

  std::vector<std::string> names() {
    std::vector<std::string> names = posix_file_system().list(job_dir);
    std::erase_if(names, [](const std::string& name) { return name.starts_with("."); });
    return names;
  }

  // Copies the folder to a name beside it; puts such a copy in its place.
  void copy_to(const std::string& name) {
    std::filesystem::copy(job_dir, directory / name, std::filesystem::copy_options::recursive);
  }
  void replace_by(const std::string& name) {
    std::filesystem::remove_all(job_dir);
    std::filesystem::rename(directory / name, job_dir);
  }

  TemporaryDirectory directory;
  const std::string job_dir = directory / "jobs/one";
  const Network network = small_network();
  ReferenceVariables<float> variables{network.variables()};
};

}  // namespace recordpipe
