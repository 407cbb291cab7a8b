// Decodes an Example of a data set of TensorFlow Datasets, and slices a split.
#include <cstdio>
#include <span>
#include <string>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/tfds/load.h"

int main() {
  namespace tfds = recordpipe::tfds;
  const std::string features =
      R"({"pythonClassName": "tensorflow_datasets.core.features.features_dict.FeaturesDict",
          "featuresDict": {"features": {"x": {
            "pythonClassName": "tensorflow_datasets.core.features.scalar.Scalar",
            "tensor": {"dtype": "uint8", "shape": {}}}}}})";
  const tfds::ExampleDecoder decode(tfds::parse_features(features));
  const std::string example = recordpipe::ExampleBuilder().set_int64("x", 7).serialize();
  const recordpipe::Dict dict = decode({.data = std::as_bytes(std::span(example))});
  tfds::Info info;
  info.splits = {{.name = "train", .shard_lengths = {10}, .files = {"file"}}};
  const tfds::ExampleRange range = tfds::parse_split("train[50%:]", info).front();
  std::printf("x = %d, Examples %d to %d\n", int{dict.at("x").array().values<unsigned char>()[0]},
              static_cast<int>(range.begin), static_cast<int>(range.end));
}
