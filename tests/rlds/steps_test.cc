// Rows of steps, beside a plain twin that has the whole episode in memory and cuts windows from it.
#include "recordpipe/rlds/steps.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/sample_from_datasets.h"
#include "recordpipe/rlds/step_batch.h"
#include "tests/rlds/random_episodes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe::rlds {
namespace {

class Steps : public testing::Test {
 protected:
  TemporaryDirectory directory;
  std::vector<EpisodeSlice> slices;
  std::vector<RandomEpisode> episodes;
  std::vector<std::pair<size_t, size_t>> numbered;  // episode and step of each step

  void SetUp() override {
    for (int file = 0; file < 3; ++file) {
      const auto part = random_episodes(20 + static_cast<uint64_t>(file), 8, 30);
      const std::string path = directory / ("arm-train.tfrecord-" + std::to_string(file));
      write_episodes(path, part);
      slices.push_back({path});
      episodes.insert(episodes.end(), part.begin(), part.end());
    }
    for (size_t e = 0; e < episodes.size(); ++e) {
      for (size_t t = 0; t < episodes[e].steps(); ++t) numbered.emplace_back(e, t);
    }
  }

  std::shared_ptr<const StepReader> reader(
      const StepsOptions& options = {}, const tfds::Feature& features = random_features()) const {
    return std::make_shared<StepReader>(features, slices, options);
  }
};

// Compares a row of a batch with the episode in memory. Windows that are not named are {0}.
void check_row(const StepBatch& batch, size_t row, const RandomEpisode& episode, size_t step,
               const std::map<std::string, std::vector<int64_t>>& windows, Pad pad) {
  const auto offsets_of = [&](const std::string& name) {
    const auto at = windows.find(name);
    return at == windows.end() ? std::vector<int64_t>{0} : at->second;
  };
  const auto last = static_cast<int64_t>(episode.steps()) - 1;
  const auto wanted = [&](int64_t offset) -> std::optional<size_t> {
    const int64_t at = static_cast<int64_t>(step) + offset;
    if (at >= 0 && at <= last) return static_cast<size_t>(at);
    if (pad == Pad::zero) return std::nullopt;
    return at < 0 ? 0 : static_cast<size_t>(last);
  };

  const auto actions = offsets_of("action");
  const auto action = batch.array("action").values<float>().subspan(
      row * actions.size() * kActionSize, actions.size() * kActionSize);
  for (size_t w = 0; w < actions.size(); ++w) {
    const auto at = wanted(actions[w]);
    for (size_t i = 0; i < kActionSize; ++i) {
      EXPECT_EQ(action[w * kActionSize + i], at ? episode.actions[*at * kActionSize + i] : 0.0f);
    }
  }
  const auto ticks = offsets_of("ticks");
  for (size_t w = 0; w < ticks.size(); ++w) {
    const auto at = wanted(ticks[w]);
    EXPECT_EQ(batch.array("ticks").values<int64_t>()[row * ticks.size() + w],
              at ? episode.ticks[*at] : 0);
    EXPECT_EQ(batch.array("is_first").type, TensorType::boolean);
  }
  const auto images = offsets_of("observation");
  for (size_t w = 0; w < images.size(); ++w) {
    const auto at = wanted(images[w]);
    EXPECT_EQ(batch.bytes("observation/image").text(row * images.size() + w),
              at ? episode.images[*at] : std::string());
  }
  const auto names = offsets_of("names");
  for (size_t w = 0; w < names.size(); ++w) {
    const auto at = wanted(names[w]);
    for (size_t i = 0; i < kNames; ++i) {
      EXPECT_EQ(batch.bytes("names").text((row * names.size() + w) * kNames + i),
                at ? episode.names[*at * kNames + i] : std::string());
    }
  }
  EXPECT_EQ(batch.bytes("language_instruction").text(row), episode.instructions[step]);
  for (const auto& [name, offsets] : windows) {
    if (std::ranges::all_of(offsets, [](int64_t offset) { return offset == 0; })) continue;
    const Array& mask = batch.array(name + "_mask");
    EXPECT_EQ(mask.type, TensorType::boolean);
    for (size_t w = 0; w < offsets.size(); ++w) {
      const int64_t at = static_cast<int64_t>(step) + offsets[w];
      EXPECT_EQ(mask.values<bool>()[row * offsets.size() + w], at >= 0 && at <= last);
    }
  }
}

TEST_F(Steps, AllFeaturesOfEachStepInOrder) {
  const auto all = reader();
  ASSERT_EQ(all->files().steps(), numbered.size());
  size_t number = 0;
  for (const StepBatch& batch : steps(all).batch(16, DropRemainder::no, StepCollator(all))) {
    for (size_t row = 0; row < batch.rows; ++row, ++number) {
      const auto [episode, step] = numbered[number];
      check_row(batch, row, episodes[episode], step, {}, Pad::edge);
    }
    EXPECT_EQ(batch.array("action").shape, (std::vector<size_t>{batch.rows, kActionSize}));
    EXPECT_EQ(batch.bytes("names").shape, (std::vector<size_t>{batch.rows, kNames}));
  }
  EXPECT_EQ(number, numbered.size());
}

TEST_F(Steps, RandomWindowsEqualThoseOfTheEpisodesInMemory) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 30; ++round) {
    std::map<std::string, std::vector<int64_t>> windows;
    for (const char* name : {"action", "observation", "names", "ticks"}) {
      if (random() % 3 == 0) continue;
      for (size_t i = 0; i < 1 + random() % 10; ++i) {
        windows[name].push_back(static_cast<int64_t>(random() % 80) - 40);
      }
    }
    StepsOptions options{.pad = random() % 2 == 0 ? Pad::edge : Pad::zero};
    for (const auto& [name, offsets] : windows) options.offsets.emplace_back(name, offsets);
    const auto chosen = reader(options);
    size_t number = 0;
    const auto dataset = steps(chosen).with_options({.threads = 1 + random() % 4});
    for (const StepBatch& batch : dataset.batch(32, DropRemainder::no, StepCollator(chosen))) {
      for (size_t row = 0; row < batch.rows; ++row, ++number) {
        const auto [episode, step] = numbered[number];
        check_row(batch, row, episodes[episode], step, windows, options.pad);
      }
    }
    EXPECT_EQ(number, numbered.size());
  }
}

TEST_F(Steps, FeaturesMayBeChosenAndRenamed) {
  const auto chosen = reader({.features = {{"image", "observation/image"},
                                           {"robot", "episode_metadata"},
                                           {"motor/action", "action"}},
                              .offsets = {{"motor", {0, 1}}}});
  size_t number = 0;
  for (const StepBatch& batch : steps(chosen).batch(7, DropRemainder::no, StepCollator(chosen))) {
    EXPECT_EQ(batch.columns.size(), 4U);  // image, robot, motor, motor_mask
    for (size_t row = 0; row < batch.rows; ++row, ++number) {
      const auto [e, t] = numbered[number];
      EXPECT_EQ(batch.bytes("image").text(row), episodes[e].images[t]);
      EXPECT_EQ(batch.bytes("robot/file_path").text(row), episodes[e].file_path);
      EXPECT_EQ(batch.array("robot/number").values<int32_t>()[row], episodes[e].number);
      EXPECT_EQ(batch.array("motor/action").values<float>()[row * 2 * kActionSize],
                episodes[e].actions[t * kActionSize]);
    }
  }
  EXPECT_EQ(number, numbered.size());
}

TEST_F(Steps, RefusesWhatARowCantHave) {
  const auto kind_of = [&](const StepsOptions& options) {
    return error_of([&] { reader(options); }).kind();
  };
  const auto invalid = ErrorKind::invalid_argument;
  EXPECT_EQ(kind_of({.features = {{"a", "no_such"}}}), invalid);
  EXPECT_EQ(kind_of({.features = {{"a", "action"}, {"a", "ticks"}}}), invalid);
  EXPECT_EQ(kind_of({.features = {{"a", "action"}, {"a/b", "ticks"}}}), invalid);
  EXPECT_EQ(kind_of({.features = {{"", "action"}}}), invalid);
  EXPECT_EQ(kind_of({.features = {{"/a", "action"}}}), invalid);
  EXPECT_EQ(kind_of({.offsets = {{"no_such", {0}}}}), invalid);
  EXPECT_EQ(kind_of({.offsets = {{"action", {}}}}), invalid);
  EXPECT_EQ(kind_of({.offsets = {{"action", {0}}, {"action", {1}}}}), invalid);
  EXPECT_EQ(kind_of({.offsets = {{"action", {INT64_MAX}}}}), invalid);
  EXPECT_EQ(
      kind_of({.features = {{"path", "episode_metadata/file_path"}}, .offsets = {{"path", {0}}}}),
      invalid);
  EXPECT_EQ(kind_of({.features = {{"a", "action"}, {"a_mask", "ticks"}}, .offsets = {{"a", {1}}}}),
            invalid);
  tfds::Feature features = random_features();
  features.children.erase(features.children.begin());
  EXPECT_EQ(error_of([&] { StepReader(features, slices, {}); }).kind(), invalid);
}

// What TFDS can't write in a Dataset, or can't read there, and optional features of an episode.
TEST_F(Steps, OtherFeaturesAreRefusedByNameUnlessLeftOut) {
  tfds::Feature scalar;
  scalar.feature_class = tfds::FeatureClass::scalar;
  scalar.dtype = TensorType::int64;
  tfds::Feature fixed_sequence;
  fixed_sequence.feature_class = tfds::FeatureClass::sequence;
  fixed_sequence.length = 3;
  fixed_sequence.children = {{"", scalar}};
  tfds::Feature unknown = scalar;
  unknown.feature_class = tfds::FeatureClass::tensor;
  unknown.shape = {tfds::kUnknown};
  tfds::Feature optional = scalar;
  optional.is_optional = true;
  const auto expect_refused = [&](const tfds::Feature& features) {
    const Error error = error_of([&] {
      StepReader(features, slices, {.features = {{"a", "odd"}}});
    });
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(error.reason().find("'odd'"), std::string::npos) << error.reason();
    StepReader(features, slices, {.features = {{"action", "action"}}});
  };
  for (const tfds::Feature& odd : {fixed_sequence, unknown}) {
    tfds::Feature features = random_features();
    features.children[0].second.children[0].second.children.emplace_back("odd", odd);
    expect_refused(features);
  }
  tfds::Feature features = random_features();
  features.children.emplace_back("odd", optional);
  expect_refused(features);
}

// The numbers of the steps of batches of `dataset`, by their ticks, images and actions.
std::vector<std::string> rows_of(const Dataset<StepBatch>& batches) {
  std::vector<std::string> rows;
  for (const StepBatch& batch : batches) {
    for (size_t row = 0; row < batch.rows; ++row) {
      rows.push_back(std::to_string(batch.array("ticks").values<int64_t>()[row]) + " " +
                     std::string(batch.bytes("observation/image").text(row)));
    }
  }
  return rows;
}

TEST_F(Steps, ShufflesRepeatsAndShardsArePermutationsOfAllSteps) {
  const auto all = reader();
  const StepCollator collator(all);
  const auto in_order = rows_of(steps(all).batch(8, DropRemainder::no, collator));
  ASSERT_EQ(in_order.size(), numbered.size());
  const std::multiset<std::string> expected(in_order.begin(), in_order.end());
  for (const auto& order : {steps(all).shuffle(50, 7), steps(all).global_shuffle(7)}) {
    const auto shuffled = rows_of(order.batch(8, DropRemainder::no, collator));
    EXPECT_NE(shuffled, in_order);
    EXPECT_EQ(std::multiset<std::string>(shuffled.begin(), shuffled.end()), expected);
    std::multiset<std::string> of_workers;
    for (size_t worker = 0; worker < 3; ++worker) {
      for (std::string& row :
           rows_of(order.shard(3, worker).batch(8, DropRemainder::no, collator))) {
        of_workers.insert(std::move(row));
      }
    }
    EXPECT_EQ(of_workers, expected);
  }
  EXPECT_EQ(steps(all).repeat(2).cardinality(), static_cast<Cardinality>(2 * numbered.size()));
}

TEST_F(Steps, StatesResumeAnywhereAtOtherThreadsAndInAnotherFolder) {
  const StepsOptions options{.offsets = {{"action", {-1, 0, 1}}}};
  const auto pipeline = [&](const std::shared_ptr<const StepReader>& from, size_t threads) {
    return steps(from)
        .shuffle(60, 3)
        .repeat(2)
        .batch(5, DropRemainder::no, StepCollator(from))
        .prefetch()
        .with_options({.threads = threads});
  };
  const auto expected = rows_of(pipeline(reader(options), 1));
  TemporaryDirectory other;
  for (EpisodeSlice& slice : slices) {
    const std::string to = other / std::filesystem::path(slice.path).filename().string();
    std::filesystem::copy(slice.path, to);
  }
  std::mt19937_64 random(2);
  for (int round = 0; round < 8; ++round) {
    auto first = pipeline(reader(options), 1 + random() % 4).iterate();
    const size_t batches = random() % (expected.size() / 5);
    for (size_t i = 0; i < batches; ++i) first.next();
    const std::string state = first.state();
    for (EpisodeSlice& slice : slices) {
      slice.path = other / std::filesystem::path(slice.path).filename().string();
    }
    auto second = pipeline(reader(options), 1 + random() % 4).iterate();
    second.restore(state);
    std::vector<std::string> rest;
    while (const StepBatch* batch = second.next()) {
      for (size_t row = 0; row < batch->rows; ++row) {
        rest.push_back(std::to_string(batch->array("ticks").values<int64_t>()[row]) + " " +
                       std::string(batch->bytes("observation/image").text(row)));
      }
    }
    EXPECT_EQ(rest,
              std::vector<std::string>(expected.begin() + static_cast<std::ptrdiff_t>(5 * batches),
                                       expected.end()));
  }
}

TEST_F(Steps, AStateOfOtherFilesOrWindowsIsRefused) {
  const auto all = reader();
  auto iterator = steps(all).batch(4, DropRemainder::no, StepCollator(all)).iterate();
  iterator.next();
  const std::string state = iterator.state();
  const auto refused = [&](const std::shared_ptr<const StepReader>& other) {
    auto restored = steps(other).batch(4, DropRemainder::no, StepCollator(other)).iterate();
    return error_of([&] { restored.restore(state); }).kind() == ErrorKind::invalid_argument;
  };
  EXPECT_TRUE(refused(reader({.offsets = {{"action", {0, 1}}}})));
  EXPECT_TRUE(refused(reader({.pad = Pad::zero})));
  // Of the same files, after features.json has changed.
  tfds::Feature features = random_features();
  tfds::Feature& step = features.children.front().second.children.front().second;
  const auto child = [&](const std::string& name) -> tfds::Feature& {
    const auto at = std::ranges::find(step.children, name, [](auto& each) { return each.first; });
    return at->second;
  };
  child("ticks").dtype = TensorType::int32;
  EXPECT_TRUE(refused(reader({}, features)));
  child("ticks").dtype = TensorType::int64;
  child("action").shape = {1, kActionSize};
  EXPECT_TRUE(refused(reader({}, features)));
  slices[0].end = 7;
  EXPECT_TRUE(refused(reader()));
}

TEST_F(Steps, MixturesOfDataSetsHaveTheRowsOfEach) {
  const std::vector<EpisodeSlice> all = slices;
  std::vector<Dataset<Step>> parts;
  std::vector<std::shared_ptr<const StepReader>> readers;
  for (const EpisodeSlice& slice : all) {
    slices = {slice};
    readers.push_back(reader());
    parts.push_back(steps(readers.back()).shuffle(10, 5));
  }
  const auto mixture = [&](size_t threads) {
    return sample_from_datasets(parts, {0.5, 0.3, 0.2}, 7)
        .batch(6, DropRemainder::no, StepCollator(readers[0]))
        .with_options({.threads = threads});
  };
  const auto rows = rows_of(mixture(1));
  EXPECT_EQ(rows.size(), numbered.size());
  EXPECT_EQ(rows_of(mixture(4)), rows);
  auto first = mixture(2).iterate();
  for (int i = 0; i < 9; ++i) first.next();
  auto second = mixture(3).iterate();
  second.restore(first.state());
  const StepBatch* batch = second.next();
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(std::to_string(batch->array("ticks").values<int64_t>()[0]) + " " +
                std::string(batch->bytes("observation/image").text(0)),
            rows[9 * 6]);

  slices = {all[0]};
  const auto other = reader({.features = {{"ticks", "ticks"}}});
  const auto wrong = sample_from_datasets(std::vector{parts[0], steps(other)}, {1, 1}, 7)
                         .batch(64, DropRemainder::no, StepCollator(readers[0]));
  EXPECT_EQ(error_of([&] { rows_of(wrong); }).kind(), ErrorKind::invalid_argument);
}

TEST_F(Steps, ADamagedRecordFailsItsStepsOnly) {
  reader();  // makes the indexes
  std::string content = read_file(slices[1].path);
  // In the data of the last record: an image's bytes, outside of the fingerprint's blocks?
  const auto all = reader();
  const uint64_t damaged_at = content.size() / 2 + 100;
  content[damaged_at] ^= 1;
  write_file(slices[1].path, content);
  size_t rows = 0;
  try {
    const auto changed = reader();
    IgnoreErrorsOptions limits;
    auto batches = steps(changed)
                       .batch(1, DropRemainder::no, StepCollator(changed))
                       .ignore_errors(limits)
                       .iterate();
    while (batches.next()) ++rows;
    EXPECT_GT(batches.skipped().count, 0U);
    EXPECT_EQ(rows + batches.skipped().count, numbered.size());
  } catch (const Error& error) {
    // The fingerprint has noticed it: the index was made again, and refuses the record.
    EXPECT_TRUE(is_damage(error.kind())) << error.what();
    EXPECT_EQ(error.path(), slices[1].path);
  }
}

TEST_F(Steps, UnusualEncodingsAreParsed) {
  // Numbers that are not packed, and a list in two pieces.
  const auto field = [](uint32_t tag, const std::string& content) {
    std::string out(1, static_cast<char>(tag));
    for (size_t size = content.size();; size >>= 7) {
      if (size < 0x80) return out + static_cast<char>(size) + content;
      out += static_cast<char>(size | 0x80);
    }
  };
  const auto entry = [&](const std::string& key, const std::string& feature) {
    return field(0x0a, field(0x0a, key) + field(0x12, feature));
  };
  std::string unpacked;
  for (int i = 0; i < 6; ++i) unpacked += from_hex("08") + static_cast<char>(10 + i);
  const std::string pieces =
      field(0x0a, field(0x0a, "a") + field(0x0a, "b")) + field(0x0a, field(0x0a, "c"));
  const std::string record =
      field(0x0a, entry("steps/n", field(0x1a, unpacked)) + entry("steps/text", pieces));
  const std::string path = directory / "unusual.tfrecord";
  RecordWriter writer(posix_file_system(), path);
  writer.write(as_bytes(record));
  writer.close();

  tfds::Feature n;
  n.feature_class = tfds::FeatureClass::tensor;
  n.dtype = TensorType::uint16;
  n.shape = {2};
  tfds::Feature text;
  text.feature_class = tfds::FeatureClass::text;
  tfds::Feature step;
  step.children = {{"n", n}, {"text", text}};
  tfds::Feature of_steps;
  of_steps.feature_class = tfds::FeatureClass::dataset;
  of_steps.children = {{"", step}};
  tfds::Feature root;
  root.children = {{"steps", of_steps}};
  const auto opened = std::make_shared<StepReader>(root, std::vector<EpisodeSlice>{{path}},
                                                   StepsOptions{.offsets = {{"n", {1, 0}}}});
  const StepCollator collator(opened);
  auto batches = steps(opened).batch(3, DropRemainder::no, collator).iterate();
  const StepBatch* batch = batches.next();
  ASSERT_NE(batch, nullptr);
  const auto values = batch->array("n").values<uint16_t>();
  EXPECT_EQ(std::vector<uint16_t>(values.begin(), values.end()),
            (std::vector<uint16_t>{12, 13, 10, 11, 14, 15, 12, 13, 14, 15, 14, 15}));
  EXPECT_EQ(batch->bytes("text").text(0), "a");
  EXPECT_EQ(batch->bytes("text").text(2), "c");
}

}  // namespace
}  // namespace recordpipe::rlds
