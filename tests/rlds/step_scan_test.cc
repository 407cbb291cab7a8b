// The CRCs that a scan derives from one pass over an episode, beside those of the bytes themselves.
#include "dataset/rlds/step_scan.h"

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/record/record_format.h"
#include "tests/rlds/random_episodes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe::rlds {
namespace {

class StepScan : public testing::Test {
 protected:
  TemporaryDirectory directory;
  const std::string path = directory / "arm-train.tfrecord-00000-of-00001";
  const std::vector<StepLeaf> leaves = random_leaves();

  std::vector<ScannedEpisode> scanned() const {
    return scan_episodes(*posix_file_system().map(path), leaves, {});
  }

  // Expects the CRCs of these images and of what is beside them.
  void check(const std::vector<std::string>& images, LeafLayout::Form form) {
    std::mt19937_64 random(5);
    RandomEpisode episode = random_episode(random, images.size(), 1);
    episode.images = images;
    write_episodes(path, {episode});
    const std::string record = serialize(episode);
    const auto data = as_bytes(record);

    const auto found = scanned();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].crc, mask_crc(crc32c(data)));
    const EpisodeLayout& layout = found[0].layout;
    EXPECT_EQ(layout.leaves[kImage].form, form);
    ASSERT_EQ(found[0].range_crcs.size(), layout.ranges.size());
    for (size_t i = 0; i < layout.ranges.size(); ++i) {
      const ByteRange range = layout.ranges[i];
      EXPECT_EQ(found[0].range_crcs[i], crc32c(data.subspan(range.offset, range.size)));
    }
    ASSERT_EQ(found[0].leaf_crcs.size(), leaves.size());
    for (size_t i = 0; i < leaves.size(); ++i) {
      const LeafLayout& leaf = layout.leaves[i];
      if (leaf.form != LeafLayout::Form::strided) continue;
      const size_t size = (units_of(leaves[i], layout.steps) - 1) * leaf.stride + leaf.size;
      EXPECT_EQ(found[0].leaf_crcs[i], crc32c(data.subspan(leaf.first, size)));
    }
  }
};

TEST_F(StepScan, CrcsOfUnitsOfAnySize) {
  std::vector<std::string> images;
  for (const size_t size : {0, 1, 2047, 2048, 2049, 30'000, 0, 5000, 200'000}) {
    images.emplace_back(size, static_cast<char>('a' + images.size()));
  }
  check(images, LeafLayout::Form::listed);
}

TEST_F(StepScan, CrcsOfUnitsOfOneSize) {
  for (const size_t size : {3, 6000}) {
    std::vector<std::string> images;
    for (char c = 'a'; c < 'h'; ++c) images.emplace_back(size, c);
    check(images, LeafLayout::Form::strided);
  }
}

// Which bytes were changed may decide whether there are any steps: the CRC is the reason to name.
TEST_F(StepScan, DamageIsNamedBeforeWhatItMakesOfTheSteps) {
  std::mt19937_64 random(5);
  const RandomEpisode episode = random_episode(random, 3, 1);
  write_episodes(path, {episode});
  const std::string content = read_file(path);
  for (size_t at = kRecordHeaderSize; at < content.size(); at += 5) {
    std::string damaged = content;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x7f);
    write_file(path, damaged);
    const Error error = error_of([&] { scanned(); });
    EXPECT_EQ(error.kind(), ErrorKind::corrupted) << at << ": " << error.what();
    EXPECT_EQ(error.offset(), 0U);
    EXPECT_NE(std::string(error.what()).find("CRC"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace recordpipe::rlds
