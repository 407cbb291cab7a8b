// Finds the steps of an episode, and cuts a window from it.
#include <cstdio>
#include <vector>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/record/record_writer.h"
#include "recordpipe/rlds/step_batch.h"

int main() {
  using namespace recordpipe;
  const std::string path = "episodes.tfrecord";
  RecordWriter writer(posix_file_system(), path);
  const std::string example =
      ExampleBuilder().set_int64s("steps/a", std::vector<int64_t>{0, 1, 2}).serialize();
  writer.write(std::as_bytes(std::span(example)));
  writer.close();

  const tfds::Feature features = tfds::parse_features(
      R"({"pythonClassName": "tensorflow_datasets.core.features.features_dict.FeaturesDict",
          "featuresDict": {"features": {"steps": {
            "pythonClassName": "tensorflow_datasets.core.features.dataset_feature.Dataset",
            "sequence": {"length": "-1", "feature": {
              "pythonClassName": "tensorflow_datasets.core.features.features_dict.FeaturesDict",
              "featuresDict": {"features": {"a": {
                "pythonClassName": "tensorflow_datasets.core.features.scalar.Scalar",
                "tensor": {"dtype": "uint8", "shape": {}}}}}}}}}}})");
  const auto reader =
      std::make_shared<const rlds::StepReader>(features, std::vector<rlds::EpisodeSlice>{{path}},
                                               rlds::StepsOptions{.offsets = {{"a", {1}}}});
  std::printf("%d steps, a =", static_cast<int>(reader->files().steps()));
  for (const rlds::StepBatch& batch :
       rlds::steps(reader).batch(8, DropRemainder::no, rlds::StepCollator(reader))) {
    for (const unsigned char a : batch.array("a").values<unsigned char>()) std::printf(" %d", a);
  }
  std::printf("\n");
}
