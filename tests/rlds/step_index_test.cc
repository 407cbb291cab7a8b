#include "recordpipe/rlds/step_index.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/rlds/kept_file.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/io/atomic_file.h"
#include "recordpipe/rlds/episode_files.h"
#include "tests/rlds/random_episodes.h"
#include "tests/support/cache_home.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe::rlds {
namespace {

FileSystem& files() { return posix_file_system(); }

class StepIndexes : public testing::Test {
 protected:
  TemporaryDirectory directory;
  const CacheHome cache{directory / "cache"};
  const std::string path = directory / "arm-train.tfrecord-00000-of-00001";
  const std::vector<StepLeaf> leaves = random_leaves();
  std::vector<RandomEpisode> episodes = random_episodes(3, 30, 40);

  void SetUp() override { write_episodes(path, episodes); }

  uint64_t steps() const {
    uint64_t count = 0;
    for (const RandomEpisode& episode : episodes) count += episode.steps();
    return count;
  }
  // Whether the index had to be made: no kept one fits the file.
  bool made_new(const std::shared_ptr<const MappedFile>& mapped) const {
    for (const std::string& place : kept_paths(step_index_path(mapped->path()))) {
      if (StepIndex::load(files(), place, *mapped, leaves)) return false;
    }
    find_step_index(files(), *mapped, leaves);
    return true;
  }
  // Reads all units of all steps, and compares those of the images.
  void read_all(const EpisodeFiles& opened) const {
    uint64_t step = 0;
    for (size_t e = 0; e < episodes.size(); ++e) {
      for (size_t t = 0; t < episodes[e].steps(); ++t, ++step) {
        const StepPlace place = opened.step(step);
        ASSERT_EQ(place.record, e);
        ASSERT_EQ(place.step, t);
        ASSERT_EQ(place.steps, episodes[e].steps());
        const auto image = opened.unit(place, kImage, t);
        ASSERT_TRUE(image);
        EXPECT_EQ(as_text(*image), episodes[e].images[t]);
      }
    }
  }
};

TEST_F(StepIndexes, EverythingIsFoundAgainFromTheFile) {
  const std::shared_ptr<const MappedFile> mapped = files().map(path);
  const StepIndex made = StepIndex::scan(*mapped, leaves, {.threads = 3});
  EXPECT_EQ(made.steps(), steps());
  made.save(files(), directory / "index");
  const auto loaded = StepIndex::load(files(), directory / "index", *mapped, leaves);
  ASSERT_TRUE(loaded);
  ASSERT_EQ(loaded->records(), episodes.size());
  EXPECT_EQ(loaded->fingerprint(), made.fingerprint());
  for (uint64_t record = 0; record < made.records(); ++record) {
    EXPECT_EQ(loaded->offset(record), made.offset(record));
    EXPECT_EQ(loaded->length(record), made.length(record));
    EXPECT_EQ(loaded->crc(record), made.crc(record));
    EXPECT_EQ(loaded->first_step(record), made.first_step(record));
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      const uint64_t count = units_of(leaves[leaf], episodes[record].steps());
      for (uint64_t unit = 0; unit < count; ++unit) {
        EXPECT_EQ(loaded->unit(record, leaf, unit), made.unit(record, leaf, unit));
      }
    }
  }
}

TEST_F(StepIndexes, TheSameBytesOnAnyThreads) {
  const std::shared_ptr<const MappedFile> mapped = files().map(path);
  StepIndex::scan(*mapped, leaves, {.threads = 1}).save(files(), directory / "one");
  StepIndex::scan(*mapped, leaves, {.threads = 7}).save(files(), directory / "seven");
  EXPECT_EQ(read_file(directory / "one"), read_file(directory / "seven"));
}

TEST_F(StepIndexes, AreKeptBesideTheFile) {
  const std::shared_ptr<const MappedFile> mapped = files().map(path);
  EXPECT_TRUE(made_new(mapped));
  EXPECT_TRUE(std::filesystem::exists(path + ".steps"));
  EXPECT_FALSE(made_new(mapped));
  EXPECT_FALSE(std::filesystem::exists(directory / "cache"));
}

TEST_F(StepIndexes, AreKeptInTheCacheIfTheFolderCantBeWritten) {
  // A folder of this name can't be replaced, also by root.
  std::filesystem::create_directory(path + ".steps");
  const std::shared_ptr<const MappedFile> mapped = files().map(path);
  EXPECT_TRUE(made_new(mapped));
  EXPECT_FALSE(made_new(mapped));
  EXPECT_EQ(find_step_index(files(), *mapped, leaves).steps(), steps());
  EXPECT_FALSE(std::filesystem::is_empty(directory / "cache/recordpipe/rlds"));
}

TEST_F(StepIndexes, AreNotKeptInTheCacheWhileAnotherProcessWritesTheSameOne) {
  AtomicFile other(files(), path + ".steps");
  const std::shared_ptr<const MappedFile> mapped = files().map(path);
  EXPECT_EQ(find_step_index(files(), *mapped, leaves).steps(), steps());
  EXPECT_FALSE(std::filesystem::exists(path + ".steps"));
  EXPECT_FALSE(std::filesystem::exists(directory / "cache"));
}

TEST_F(StepIndexes, WorkWithoutAnyPlaceForThem) {
  std::filesystem::create_directory(path + ".steps");
  write_file(directory / "cache", "a file where the folder should be");
  const std::shared_ptr<const MappedFile> mapped = files().map(path);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(find_step_index(files(), *mapped, leaves).steps(), steps());
  }
}

TEST_F(StepIndexes, EachChangedByteIsNoticed) {
  const std::shared_ptr<const MappedFile> mapped = files().map(path);
  find_step_index(files(), *mapped, leaves);
  const std::string intact = read_file(path + ".steps");
  std::mt19937_64 random(4);
  for (size_t at = 0; at < intact.size(); at += 1 + random() % 40) {
    std::string damaged = intact;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    write_file(path + ".steps", damaged);
    EXPECT_FALSE(StepIndex::load(files(), path + ".steps", *mapped, leaves)) << at;
  }
  for (size_t size : {size_t{0}, size_t{1}, size_t{63}, size_t{68}, intact.size() - 1}) {
    write_file(path + ".steps", intact.substr(0, size));
    EXPECT_FALSE(StepIndex::load(files(), path + ".steps", *mapped, leaves)) << size;
  }
  EXPECT_TRUE(made_new(mapped));
  EXPECT_EQ(read_file(path + ".steps"), intact);
}

TEST_F(StepIndexes, OfAnotherFileOrOtherLeavesAreMadeAgain) {
  find_step_index(files(), *files().map(path), leaves);
  std::vector<StepLeaf> others = leaves;
  others.pop_back();
  const std::shared_ptr<const MappedFile> mapped = files().map(path);
  EXPECT_FALSE(StepIndex::load(files(), path + ".steps", *mapped, others));
  // The same sizes, other values.
  episodes[2].actions.at(0) += 1;
  write_episodes(path, episodes);
  EXPECT_FALSE(StepIndex::load(files(), path + ".steps", *files().map(path), leaves));
  EXPECT_TRUE(made_new(files().map(path)));
}

// An index whose CRC fits, with any other numbers.
TEST_F(StepIndexes, AHostileOneReadsNothingOutsideOfItsRecords) {
  const std::shared_ptr<const MappedFile> mapped = files().map(path);
  find_step_index(files(), *mapped, leaves);
  const std::string intact = read_file(path + ".steps");
  std::mt19937_64 random(5);
  size_t opened_ones = 0;
  for (int round = 0; round < 400; ++round) {
    std::string hostile = intact.substr(0, intact.size() - 4);
    for (size_t i = 0; i < 1 + random() % 4; ++i) {
      const size_t at = 64 + random() % (hostile.size() - 64);
      hostile[at] = static_cast<char>(random());
    }
    std::byte crc[4];
    store_little_endian(mask_crc(crc32c(as_bytes(hostile))), crc);
    write_file(path + ".steps", hostile + as_text(crc));
    const auto index = StepIndex::load(files(), path + ".steps", *mapped, leaves);
    if (!index) continue;
    ++opened_ones;
    for (uint64_t record = 0; record < index->records(); ++record) {
      const uint64_t count = index->first_step(record + 1) - index->first_step(record);
      for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        for (uint64_t unit = 0; unit < units_of(leaves[leaf], count); ++unit) {
          try {
            const auto place = index->unit(record, leaf, unit);
            if (!place) continue;
            for (const ByteRange& range : {place->unit, place->guarded}) {
              EXPECT_LE(uint64_t{range.offset} + range.size, index->length(record));
            }
          } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::corrupted);
          }
        }
      }
    }
  }
  EXPECT_GT(opened_ones, 0U);
}

TEST_F(StepIndexes, ADamagedRecordIsNamed) {
  std::string content = read_file(path);
  const uint64_t second = serialize(episodes[0]).size() + 16;
  content[second + 40] ^= 1;
  write_file(path, content);
  for (size_t threads : {1, 4}) {
    const Error error =
        error_of([&] { StepIndex::scan(*files().map(path), leaves, {.threads = threads}); });
    EXPECT_EQ(error.kind(), ErrorKind::corrupted);
    EXPECT_EQ(error.path(), path);
    EXPECT_EQ(error.offset(), second);
  }
}

TEST_F(StepIndexes, AnEpisodeOfUnevenLeavesIsNamed) {
  episodes[1].is_first.push_back(0);
  write_episodes(path, episodes);
  const Error error =
      error_of([&] { StepIndex::scan(*files().map(path), leaves, {.threads = 2}); });
  EXPECT_EQ(error.path(), path);
  EXPECT_EQ(error.offset(), serialize(episodes[0]).size() + 16);
}

TEST_F(StepIndexes, AScanStops) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(error_of([&] {
              StepIndex::scan(*files().map(path), leaves, {.threads = 2, .stop = stop.get_token()});
            }).kind(),
            ErrorKind::cancelled);
}

TEST_F(StepIndexes, ItIsToldHowFarItIs) {
  const std::shared_ptr<const MappedFile> mapped = files().map(path);
  for (const bool is_kept : {false, true}) {
    std::atomic<uint64_t> done = 0;
    std::atomic<size_t> calls = 0;
    const auto advance = [&](uint64_t bytes) {
      done += bytes;
      ++calls;
    };
    find_step_index(files(), *mapped, leaves, {.threads = 3, .advance = advance});
    EXPECT_EQ(done, mapped->size());
    EXPECT_EQ(calls, is_kept ? 1u : episodes.size());
  }
}

// A file that another program replaces after the first record was read.
class ReplacedFile final : public RandomAccessFile {
 public:
  ReplacedFile(const RandomAccessFile& before, const RandomAccessFile& after)
      : before_(before), after_(after) {}
  uint64_t size() const override { return before_.size(); }
  bool stable() const override { return true; }
  const std::string& path() const override { return before_.path(); }
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> scratch) const override {
    return (is_replaced_ ? after_ : before_).read(offset, size, scratch);
  }
  void hint(uint64_t offset, uint64_t /*size*/, ReadHint hint) const override {
    if (offset == 0 && hint == ReadHint::done) is_replaced_ = true;
  }

 private:
  const RandomAccessFile& before_;
  const RandomAccessFile& after_;
  mutable bool is_replaced_ = false;
};

TEST_F(StepIndexes, AFileThatChangesDuringTheScanIsRefused) {
  const std::shared_ptr<const MappedFile> before = files().map(path);
  for (const bool is_damage : {true, false}) {  // or another record
    std::string content = read_file(path);
    if (!is_damage) {
      episodes[0].actions.at(0) += 1;
      write_episodes(directory / "others", episodes);
      content = read_file(directory / "others");
    } else {
      content[100] ^= 1;
    }
    write_file(directory / "after", content);
    const std::shared_ptr<const MappedFile> after = files().map(directory / "after");
    const Error error =
        error_of([&] { StepIndex::scan(ReplacedFile(*before, *after), leaves, {.threads = 1}); });
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(error.path(), path);
    EXPECT_NE(error.reason().find("has changed"), std::string::npos) << error.reason();
  }
}

TEST_F(StepIndexes, EpisodeFilesFindEachStep) {
  read_all(*EpisodeFiles::open({{path}}, leaves));
  read_all(*EpisodeFiles::open({{path}}, leaves));  // with the kept index
}

TEST_F(StepIndexes, SlicesMayOverlapAndBeEmpty) {
  const auto opened =
      EpisodeFiles::open({{path, 5, 5}, {path, 20, 25}, {path, 2, 22}, {path, 29}}, leaves);
  std::vector<size_t> expected;
  for (size_t i = 20; i < 25; ++i) expected.push_back(i);
  for (size_t i = 2; i < 22; ++i) expected.push_back(i);
  expected.push_back(29);
  ASSERT_EQ(opened->episodes(), expected.size());
  uint64_t step = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(opened->episode(i).record, expected[i]);
    EXPECT_EQ(opened->first_step(i), step);
    for (size_t t = 0; t < episodes[expected[i]].steps(); ++t, ++step) {
      EXPECT_EQ(opened->step(step).record, expected[i]);
      EXPECT_EQ(opened->step(step).step, t);
    }
  }
  EXPECT_EQ(opened->steps(), step);
}

TEST_F(StepIndexes, ARecordThatIsDamagedLaterFailsAtItsSteps) {
  EpisodeFiles::open({{path}}, leaves);
  // Behind the first 4 KiB, and not in a block of the fingerprint that is compared.
  std::string content = read_file(path);
  const std::string intact = content;
  std::mt19937_64 random(6);
  size_t unnoticed = 0;
  for (int round = 0; round < 40 && unnoticed == 0; ++round) {
    content = intact;
    content[4096 + random() % (content.size() - 8192)] ^= 1;
    write_file(path, content);
    if (StepIndex::load(files(), path + ".steps", *files().map(path), leaves)) ++unnoticed;
  }
  if (unnoticed == 0) GTEST_SKIP() << "each byte of this small file is in the fingerprint";
  const auto opened = EpisodeFiles::open({{path}}, leaves);
  // Only the steps whose values are damaged fail.
  size_t failed = 0;
  for (uint64_t step = 0; step < opened->steps(); ++step) {
    const StepPlace place = opened->step(step);
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      try {
        opened->unit(place, leaf, leaves[leaf].is_of_episode ? 0 : place.step);
      } catch (const Error& error) {
        EXPECT_TRUE(is_damage(error.kind())) << error.what();
        EXPECT_EQ(error.path(), path);
        ++failed;
      }
    }
  }
  EXPECT_LE(failed, 40U);
}

TEST_F(StepIndexes, OfAFileOfTheSameSizeWithAnotherRecordAreMadeAgain) {
  // 300 KB, so that the fingerprint does not cover it.
  episodes = random_episodes(11, 60, 60);
  for (size_t changed = 1; changed < episodes.size(); changed += 6) {
    if (episodes[changed].actions.empty()) continue;
    write_episodes(path, episodes);
    const uint64_t before = EpisodeFiles::open({{path}}, leaves)->fingerprint();
    std::vector<RandomEpisode> others = episodes;
    others[changed].actions[0] += 1;
    write_episodes(path, others);
    EXPECT_FALSE(StepIndex::load(files(), path + ".steps", *files().map(path), leaves)) << changed;
    const auto opened = EpisodeFiles::open({{path}}, leaves);
    EXPECT_NE(opened->fingerprint(), before);
    opened->unit(opened->episode(changed), kAction, 0);
    read_all(*opened);
  }
}

TEST_F(StepIndexes, ARecordThatIsReplacedWhileTheFileIsOpenFails) {
  const size_t changed = 1;
  ASSERT_FALSE(episodes[changed].actions.empty());
  const auto opened = EpisodeFiles::open({{path}}, leaves);
  std::vector<RandomEpisode> others = episodes;
  others[changed].actions[0] += 1;
  write_episodes(directory / "others", others);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
      << read_file(directory / "others");
  const StepPlace place = opened->episode(changed);
  EXPECT_EQ(error_of([&] { opened->unit(place, kAction, 0); }).kind(),
            ErrorKind::checksum_mismatch);
  const Error error = error_of([&] { opened->check(place); });
  EXPECT_EQ(error.kind(), ErrorKind::checksum_mismatch);
  EXPECT_NE(error.hint().find("open it again"), std::string::npos) << error.hint();
  opened->unit(place, kTicks, 0);
  opened->check(opened->episode(changed - 1));
  // As the hint says.
  const auto again = EpisodeFiles::open({{path}}, leaves);
  again->unit(again->episode(changed), kAction, 0);
  again->check(again->episode(changed));
}

}  // namespace
}  // namespace recordpipe::rlds
