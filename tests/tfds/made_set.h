// Writes small data sets in the format of TensorFlow Datasets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace recordpipe::tfds {

// The JSON of features: "tensor" of a dtype and a shape such as "[-1, 3]".
std::string tensor(std::string_view dtype, std::string_view shape = "[]",
                   std::string_view more = "");
std::string text();
std::string image(std::string_view shape, std::string_view dtype = "uint8");
std::string sequence(const std::string& inner, int length = -1, std::string_view name = "Sequence");
// {name, feature, name, feature, ...}.
std::string dict(const std::vector<std::string>& members);

struct MadeSplit {
  std::string name;
  std::vector<std::vector<std::string>> shards;  // the records of each file
};

// Writes FOLDER/{features.json,dataset_info.json} and the files made-SPLIT.tfrecord-*.
void write_set(const std::string& folder, const std::string& features,
               const std::vector<MadeSplit>& splits);

}  // namespace recordpipe::tfds
