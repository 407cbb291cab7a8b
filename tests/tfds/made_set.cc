#include "tests/tfds/made_set.h"

#include <cstdio>
#include <filesystem>

#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe::tfds {
namespace {

constexpr std::string_view kModule = "tensorflow_datasets.core.features.some_feature.";

std::string feature(std::string_view name, std::string_view member, const std::string& content) {
  return R"({"pythonClassName": ")" + std::string(kModule) + std::string(name) + R"(", ")" +
         std::string(member) + R"(": {)" + content + "}}";
}

std::string shape_of(std::string_view shape) {
  return R"("shape": {"dimensions": )" + std::string(shape) + "}";
}

}  // namespace

std::string tensor(std::string_view dtype, std::string_view shape, std::string_view more) {
  return feature("Tensor", "tensor",
                 R"("dtype": ")" + std::string(dtype) + R"(", )" + shape_of(shape) +
                     (more.empty() ? "" : ", " + std::string(more)));
}

std::string text() { return feature("Text", "text", ""); }

std::string image(std::string_view shape, std::string_view dtype) {
  return feature("Image", "image",
                 R"("dtype": ")" + std::string(dtype) + R"(", )" + shape_of(shape) +
                     R"(, "encodingFormat": "png")");
}

std::string sequence(const std::string& inner, int length, std::string_view name) {
  return feature(name, "sequence",
                 R"("feature": )" + inner + R"(, "length": ")" + std::to_string(length) + '"');
}

std::string dict(const std::vector<std::string>& members) {
  std::string content;
  for (size_t i = 0; i < members.size(); i += 2) {
    content += (i == 0 ? "\"" : ", \"") + members[i] + "\": " + members[i + 1];
  }
  return feature("FeaturesDict", "featuresDict", R"("features": {)" + content + "}");
}

void write_set(const std::string& folder, const std::string& features,
               const std::vector<MadeSplit>& splits) {
  std::filesystem::create_directories(folder);
  write_file(folder + "/features.json", features);
  std::string described;
  for (const MadeSplit& split : splits) {
    std::string lengths;
    for (size_t i = 0; i < split.shards.size(); ++i) {
      lengths += (i == 0 ? "\"" : ", \"") + std::to_string(split.shards[i].size()) + '"';
      char end[32];
      std::snprintf(end, sizeof end, "-%05zu-of-%05zu", i, split.shards.size());
      RecordWriter writer(posix_file_system(), folder + "/made-" + split.name + ".tfrecord" + end);
      for (const std::string& record : split.shards[i]) writer.write(as_bytes(record));
      writer.close();
    }
    described += (described.empty() ? "" : ", ") + std::string(R"({"name": ")") + split.name +
                 R"(", "shardLengths": [)" + lengths + "]}";
  }
  write_file(folder + "/dataset_info.json",
             R"({"name": "made", "version": "1.0.0", "splits": [)" + described + "]}");
}

}  // namespace recordpipe::tfds
