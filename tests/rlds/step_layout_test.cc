#include "recordpipe/rlds/step_layout.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/rlds/step_values.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/example/internal/wire_reader.h"
#include "tests/rlds/random_episodes.h"
#include "tests/support/expect_error.h"

namespace recordpipe::rlds {
namespace {

std::string text_at(std::string_view record, const EpisodeLayout& layout, size_t leaf,
                    uint64_t unit) {
  const auto range = unit_at(layout.leaves[leaf], layout.ranges, unit, record.size());
  EXPECT_TRUE(range);
  return range ? std::string(record.substr(range->offset, range->size)) : std::string();
}

// The values of a unit, whose varints may be longer than needed.
std::string values_of(const StepLeaf& leaf, std::span<const std::byte> unit) {
  if (leaf.is_ragged) {
    std::string values;
    WireReader reader(unit);
    while (leaf.kind != FeatureKind::floats && !reader.done()) {
      if (leaf.kind == FeatureKind::int64s) {
        values += std::to_string(reader.read_varint()) + " ";
      } else {
        EXPECT_EQ(reader.read_tag(), length_delimited_tag(1));
        values += as_text(reader.read_bytes()) + "|";
      }
    }
    return leaf.kind == FeatureKind::floats ? as_text(unit) : values;
  }
  if (leaf.kind != FeatureKind::int64s) return as_text(unit);
  std::string values(leaf.values * sizeof(int64_t), '\0');
  decode_unit(unit, {TensorType::int64, leaf.kind}, leaf.values,
              reinterpret_cast<std::byte*>(values.data()));
  return values;
}

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

TEST(StepLayout, EachUnitIsWhatWasWritten) {
  std::mt19937_64 random(7);
  for (size_t steps : {0, 1, 2, 3, 30, 200}) {
    const RandomEpisode episode = random_episode(random, steps, 12345);
    const std::string record = serialize(episode);
    const EpisodeLayout layout = lay_out_episode(as_bytes(record), random_leaves());
    ASSERT_EQ(layout.steps, steps);
    for (size_t t = 0; t < steps; ++t) {
      EXPECT_EQ(text_at(record, layout, kImage, t), episode.images[t]);
      EXPECT_EQ(text_at(record, layout, kInstruction, t), episode.instructions[t]);
      for (size_t i = 0; i < kNames; ++i) {
        EXPECT_EQ(text_at(record, layout, kNamesLeaf, t * kNames + i),
                  episode.names[t * kNames + i]);
      }
      EXPECT_EQ(
          text_at(record, layout, kAction, t),
          as_text(std::as_bytes(std::span(episode.actions).subspan(t * kActionSize, kActionSize))));
      EXPECT_EQ(text_at(record, layout, kIsFirst, t),
                varint(static_cast<uint64_t>(episode.is_first[t])));
      EXPECT_EQ(text_at(record, layout, kTicks, t),
                varint(static_cast<uint64_t>(episode.ticks[t])));
    }
    EXPECT_EQ(text_at(record, layout, kFilePath, 0), episode.file_path);
    EXPECT_EQ(text_at(record, layout, kNumber, 0), varint(12345));
  }
}

TEST(StepLayout, ValuesOfOneSizeNeedNoList) {
  std::mt19937_64 random(8);
  const std::string record = serialize(random_episode(random, 50, 1));
  const EpisodeLayout layout = lay_out_episode(as_bytes(record), random_leaves());
  for (const size_t leaf : {kInstruction, kAction, kIsFirst, kFilePath, kNumber}) {
    EXPECT_EQ(layout.leaves[leaf].form, LeafLayout::Form::strided) << leaf;
  }
  EXPECT_EQ(layout.leaves[kImage].form, LeafLayout::Form::listed);
}

TEST(StepLayout, RefusesLeavesOfDifferentLengths) {
  std::mt19937_64 random(9);
  RandomEpisode episode = random_episode(random, 4, 1);
  episode.is_first.pop_back();
  const Error error =
      error_of([&] { lay_out_episode(as_bytes(serialize(episode)), random_leaves()); });
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
  EXPECT_NE(error.reason().find("'steps/is_first' has 3 steps"), std::string::npos)
      << error.reason();
  episode = random_episode(random, 4, 1);
  episode.actions.pop_back();
  EXPECT_EQ(
      error_of([&] { lay_out_episode(as_bytes(serialize(episode)), random_leaves()); }).kind(),
      ErrorKind::corrupted);
}

TEST(StepLayout, RefusesMissingLeavesAndOtherKinds) {
  ExampleBuilder builder;
  const std::vector<float> floats(3);
  builder.set_floats("steps/a", floats);
  const std::string record = builder.serialize();
  const auto kind_of = [&](const std::vector<StepLeaf>& leaves) {
    return error_of([&] { lay_out_episode(as_bytes(record), leaves); }).kind();
  };
  EXPECT_EQ(kind_of({{"steps/a", FeatureKind::floats, 1}, {"steps/b", FeatureKind::floats, 1}}),
            ErrorKind::not_found);
  EXPECT_EQ(kind_of({{"steps/b", FeatureKind::floats, 1}, {"steps/a", FeatureKind::floats, 1}}),
            ErrorKind::not_found);
  EXPECT_EQ(kind_of({{"steps/a", FeatureKind::int64s, 1}}), ErrorKind::unsupported);
  EXPECT_EQ(kind_of({{"steps/a", FeatureKind::floats, 2}}), ErrorKind::corrupted);
}

// Features in sequences: pairs of floats, texts in two sequences, and numbers of any size; and a
// list of the episode.
std::vector<StepLeaf> ragged_leaves() {
  const auto leaf = [](const std::string& key, FeatureKind kind, std::vector<size_t> row_lengths,
                       size_t values = 1) {
    const bool is_ragged = !row_lengths.empty();
    return StepLeaf{"steps/" + key, kind, values, false, is_ragged, std::move(row_lengths)};
  };
  return {leaf("x/ragged_flat_values", FeatureKind::floats, {1}, 2),
          leaf("x/ragged_row_lengths_0", FeatureKind::int64s, {}),
          leaf("y/ragged_flat_values", FeatureKind::bytes, {3, 4}),
          leaf("y/ragged_row_lengths_0", FeatureKind::int64s, {}),
          leaf("y/ragged_row_lengths_1", FeatureKind::int64s, {3}),
          leaf("z/ragged_flat_values", FeatureKind::int64s, {6}),
          leaf("z/ragged_row_lengths_0", FeatureKind::int64s, {}),
          {"tags", FeatureKind::bytes, 1, true, true, {}}};
}

// An Example of them, and for each leaf the values of each step (values_of()).
struct RaggedEpisode {
  explicit RaggedEpisode(size_t steps, uint64_t seed = 3) : values(8) {
    std::mt19937_64 random(seed);
    std::vector<float> floats;
    std::vector<int64_t> numbers, lengths_x, lengths_y, lengths_y1, lengths_z;
    std::vector<std::string> texts, tags;
    for (size_t t = 0; t < steps; ++t) {
      lengths_x.push_back(static_cast<int64_t>(random() % 4));
      std::vector<float> of_step;
      for (int64_t i = 0; i < 2 * lengths_x.back(); ++i) {
        of_step.push_back(static_cast<float>(random() % 1000));
      }
      floats.insert(floats.end(), of_step.begin(), of_step.end());
      values[0].push_back(as_text(std::as_bytes(std::span(of_step))));
      lengths_y.push_back(static_cast<int64_t>(random() % 3));
      values[2].emplace_back();
      values[4].emplace_back();
      for (int64_t i = 0; i < lengths_y.back(); ++i) {
        lengths_y1.push_back(static_cast<int64_t>(random() % 3));
        values[4].back() += std::to_string(lengths_y1.back()) + " ";
        for (int64_t k = 0; k < lengths_y1.back(); ++k) {
          texts.push_back(std::string(random() % 200, 'a'));
          values[2].back() += texts.back() + "|";
        }
      }
      lengths_z.push_back(static_cast<int64_t>(random() % 5));
      values[5].emplace_back();
      for (int64_t i = 0; i < lengths_z.back(); ++i) {
        numbers.push_back(static_cast<int64_t>(random() >> random() % 64));
        values[5].back() += std::to_string(static_cast<uint64_t>(numbers.back())) + " ";
      }
      tags.push_back("tag");
    }
    values[7].emplace_back();
    for (const std::string& tag : tags) values[7].back() += tag + "|";
    builder.set_floats("steps/x/ragged_flat_values", floats);
    builder.set_int64s("steps/x/ragged_row_lengths_0", lengths_x);
    set_texts(builder, "steps/y/ragged_flat_values", texts);
    builder.set_int64s("steps/y/ragged_row_lengths_0", lengths_y);
    builder.set_int64s("steps/y/ragged_row_lengths_1", lengths_y1);
    builder.set_int64s("steps/z/ragged_flat_values", numbers);
    builder.set_int64s("steps/z/ragged_row_lengths_0", lengths_z);
    set_texts(builder, "tags", tags);
  }

  ExampleBuilder builder;
  std::vector<std::vector<std::string>> values;
};

TEST(StepLayout, AUnitOfARaggedLeafHasTheValuesOfItsStep) {
  const std::vector<StepLeaf> leaves = ragged_leaves();
  for (const size_t steps : {0, 1, 2, 40}) {
    const RaggedEpisode episode(steps);
    const std::string record = episode.builder.serialize();
    const EpisodeLayout layout = lay_out_episode(as_bytes(record), leaves);
    ASSERT_EQ(layout.steps, steps);
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      if (!leaves[leaf].is_ragged) continue;
      ASSERT_EQ(episode.values[leaf].size(), units_of(leaves[leaf], steps));
      for (uint64_t unit = 0; unit < episode.values[leaf].size(); ++unit) {
        const std::string found = text_at(record, layout, leaf, unit);
        EXPECT_EQ(values_of(leaves[leaf], as_bytes(found)), episode.values[leaf][unit]) << leaf;
        std::vector<std::byte> scratch;
        EXPECT_EQ(values_of(leaves[leaf],
                            parse_unit(as_bytes(record), leaves, leaf, steps, unit, scratch)),
                  episode.values[leaf][unit]);
      }
    }
  }
}

TEST(StepLayout, RefusesRowLengthsThatDontFit) {
  const std::vector<int64_t> changes[] = {
      {1, 1, 1, 1}, {1, 1}, {-1, 3, 0, 0}, {INT64_MAX, INT64_MAX, 2, 1}, {0, 0, 0, 0}};
  for (const std::vector<int64_t>& lengths : changes) {
    for (const std::string key : {"x/ragged_row_lengths_0", "y/ragged_row_lengths_1"}) {
      RaggedEpisode episode(4);
      episode.builder.set_int64s("steps/" + key, lengths);
      const std::string record = episode.builder.serialize();
      EXPECT_EQ(error_of([&] { lay_out_episode(as_bytes(record), ragged_leaves()); }).kind(),
                ErrorKind::corrupted)
          << key << " " << lengths[0];
    }
  }
}

void expect_errors_or_places_inside(const std::string& intact,
                                    const std::vector<StepLeaf>& leaves) {
  std::mt19937_64 random(10);
  for (int round = 0; round < 3000; ++round) {
    std::string record =
        intact.substr(0, random() % 4 == 0 ? random() % intact.size() : intact.size());
    for (size_t i = 0; i < 1 + random() % 3 && !record.empty(); ++i) {
      record[random() % record.size()] = static_cast<char>(random());
    }
    try {
      const EpisodeLayout layout = lay_out_episode(as_bytes(record), leaves);
      for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        const uint64_t units = units_of(leaves[leaf], layout.steps);
        if (layout.leaves[leaf].form == LeafLayout::Form::parsed) continue;
        // What is read at the place is what the parser of Examples finds.
        std::vector<std::byte> scratch;
        for (uint64_t unit = 0; unit < units; ++unit) {
          const auto range = unit_at(layout.leaves[leaf], layout.ranges, unit, record.size());
          ASSERT_TRUE(range);
          const auto found = as_bytes(record).subspan(range->offset, range->size);
          const auto parsed =
              parse_unit(as_bytes(record), leaves, leaf, layout.steps, unit, scratch);
          EXPECT_EQ(values_of(leaves[leaf], found), values_of(leaves[leaf], parsed));
        }
      }
    } catch (const Error& error) {
      EXPECT_TRUE(error.kind() == ErrorKind::corrupted || error.kind() == ErrorKind::not_found ||
                  error.kind() == ErrorKind::unsupported)
          << error.what();
    }
  }
}

TEST(StepLayout, ADamagedRecordIsAnErrorOrStaysInside) {
  std::mt19937_64 random(10);
  expect_errors_or_places_inside(serialize(random_episode(random, 20, 1)), random_leaves());
}

TEST(StepLayout, ADamagedRecordWithRaggedLeavesIsAnErrorOrStaysInside) {
  expect_errors_or_places_inside(RaggedEpisode(20).builder.serialize(), ragged_leaves());
}

TEST(StepLayout, AHostileLayoutStaysInsideOfTheRecord) {
  using Form = LeafLayout::Form;
  const std::vector<ByteRange> ranges{{90, 10}, {91, 10}, {UINT32_MAX, UINT32_MAX}};
  const auto at = [&](const LeafLayout& leaf, uint64_t unit) {
    return unit_at(leaf, ranges, unit, 100);
  };
  EXPECT_TRUE(at({Form::strided, 10, 90, 0}, UINT64_MAX));
  EXPECT_FALSE(at({Form::strided, 10, 90, 1}, 1));
  EXPECT_FALSE(at({Form::strided, 10, 0, UINT64_MAX}, 2));
  EXPECT_FALSE(at({Form::strided, UINT32_MAX, 1, 0}, 0));
  EXPECT_FALSE(at({Form::strided, 1, UINT64_MAX, 1}, 1));
  EXPECT_TRUE(at({Form::listed, 0, 0, 0}, 0));
  EXPECT_FALSE(at({Form::listed, 0, 0, 0}, 1));
  EXPECT_FALSE(at({Form::listed, 0, 2, 0}, 0));
  EXPECT_FALSE(at({Form::listed, 0, 3, 0}, 0));
  EXPECT_FALSE(at({Form::listed, 0, UINT64_MAX, 0}, 1));
  EXPECT_FALSE(at({static_cast<Form>(77), 1, 1, 1}, 0));
}

}  // namespace
}  // namespace recordpipe::rlds
