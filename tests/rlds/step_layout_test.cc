#include "recordpipe/rlds/step_layout.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/rlds/step_values.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/endian.h"
#include "recordpipe/internal/example/wire_reader.h"
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

TEST(StepLayout, ADamagedRecordIsAnErrorOrStaysInside) {
  std::mt19937_64 random(10);
  const std::string intact = serialize(random_episode(random, 20, 1));
  const std::vector<StepLeaf> leaves = random_leaves();
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
              parse_unit(as_bytes(record), leaves[leaf], layout.steps, unit, scratch);
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
