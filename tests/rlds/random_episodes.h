// Makes files of random episodes, and keeps what is in them: the plain twin of reading steps.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/record/record_writer.h"
#include "recordpipe/rlds/step_layout.h"
#include "recordpipe/tfds/features.h"
#include "tests/support/bytes.h"

namespace recordpipe::rlds {

constexpr size_t kActionSize = 7;
constexpr size_t kNames = 2;

struct RandomEpisode {
  std::vector<std::string> images;
  std::vector<std::string> names;         // two for each step
  std::vector<std::string> instructions;  // the same in all steps
  std::vector<float> actions;             // [steps, 7]
  std::vector<int64_t> is_first;
  std::vector<int64_t> ticks;  // of any size, also negative
  std::string file_path;
  int64_t number = 0;

  size_t steps() const { return images.size(); }
};

inline void set_texts(ExampleBuilder& builder, std::string_view key,
                      const std::vector<std::string>& texts) {
  std::vector<std::span<const std::byte>> values;
  for (const std::string& text : texts) values.push_back(as_bytes(text));
  builder.set_bytes_list(key, values);
}

inline std::string serialize(const RandomEpisode& episode) {
  ExampleBuilder builder;
  set_texts(builder, "steps/observation/image", episode.images);
  set_texts(builder, "steps/names", episode.names);
  set_texts(builder, "steps/language_instruction", episode.instructions);
  builder.set_floats("steps/action", episode.actions);
  builder.set_int64s("steps/is_first", episode.is_first);
  builder.set_int64s("steps/ticks", episode.ticks);
  builder.set_bytes("episode_metadata/file_path", episode.file_path);
  builder.set_int64("episode_metadata/number", episode.number);
  return builder.serialize();
}

// The leaves of serialize(), in this order.
enum LeafNumber { kImage, kNamesLeaf, kInstruction, kAction, kIsFirst, kTicks, kFilePath, kNumber };
inline std::vector<StepLeaf> random_leaves() {
  return {{"steps/observation/image", FeatureKind::bytes, 1},
          {"steps/names", FeatureKind::bytes, kNames},
          {"steps/language_instruction", FeatureKind::bytes, 1},
          {"steps/action", FeatureKind::floats, kActionSize},
          {"steps/is_first", FeatureKind::int64s, 1},
          {"steps/ticks", FeatureKind::int64s, 1},
          {"episode_metadata/file_path", FeatureKind::bytes, 1, true},
          {"episode_metadata/number", FeatureKind::int64s, 1, true}};
}

inline RandomEpisode random_episode(std::mt19937_64& random, size_t steps, int64_t number) {
  RandomEpisode episode;
  const auto text = [&](size_t size) {
    std::string made(size, '\0');
    for (char& c : made) c = static_cast<char>(random());
    return made;
  };
  const std::string instruction = "pick up block " + std::to_string(random() % 100);
  for (size_t t = 0; t < steps; ++t) {
    episode.images.push_back(text(random() % 400));
    for (size_t i = 0; i < kNames; ++i) episode.names.push_back(text(random() % 3));
    episode.instructions.push_back(instruction);
    for (size_t i = 0; i < kActionSize; ++i) {
      episode.actions.push_back(std::normal_distribution<float>()(random));
    }
    episode.is_first.push_back(t == 0 ? 1 : 0);
    episode.ticks.push_back(static_cast<int64_t>(random()) >> random() % 64);
  }
  episode.file_path = "episode_" + std::to_string(number);
  episode.number = number;
  return episode;
}

// Lengths of 0 to `longest`.
inline std::vector<RandomEpisode> random_episodes(uint64_t seed, size_t count, size_t longest) {
  std::mt19937_64 random(seed);
  std::vector<RandomEpisode> episodes;
  for (size_t i = 0; i < count; ++i) {
    const size_t steps = i % 5 == 3 ? 0 : random() % (longest + 1);
    episodes.push_back(random_episode(random, steps, static_cast<int64_t>(i)));
  }
  return episodes;
}

inline void write_episodes(const std::string& path, const std::vector<RandomEpisode>& episodes) {
  RecordWriter writer(posix_file_system(), path);
  for (const RandomEpisode& episode : episodes) writer.write(as_bytes(serialize(episode)));
  writer.close();
}

// features.json of serialize().
inline tfds::Feature random_features() {
  using tfds::FeatureClass;
  const auto leaf = [](FeatureClass of, std::optional<TensorType> dtype,
                       std::vector<int64_t> shape = {}) {
    tfds::Feature feature;
    feature.feature_class = of;
    feature.dtype = dtype;
    feature.shape = std::move(shape);
    return feature;
  };
  tfds::Feature observation;
  observation.children = {{"image", leaf(FeatureClass::image, TensorType::uint8, {-1, -1, 3})}};
  tfds::Feature step;
  step.children = {{"observation", observation},
                   {"names", leaf(FeatureClass::tensor, {}, {kNames})},
                   {"language_instruction", leaf(FeatureClass::text, {})},
                   {"action", leaf(FeatureClass::tensor, TensorType::float32, {kActionSize})},
                   {"is_first", leaf(FeatureClass::scalar, TensorType::boolean)},
                   {"ticks", leaf(FeatureClass::scalar, TensorType::int64)}};
  tfds::Feature steps;
  steps.feature_class = FeatureClass::dataset;
  steps.children = {{"", step}};
  tfds::Feature metadata;
  metadata.children = {{"file_path", leaf(FeatureClass::text, {})},
                       {"number", leaf(FeatureClass::scalar, TensorType::int32)}};
  tfds::Feature root;
  root.children = {{"steps", steps}, {"episode_metadata", metadata}};
  return root;
}

}  // namespace recordpipe::rlds
