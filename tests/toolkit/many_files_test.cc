// Tests work on many files at a time: order, errors, which files work alone, streams of records.
#include "dataset/toolkit/files/many_files.h"

#include <atomic>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/toolkit/describe/survey.h"
#include "dataset/toolkit/files/input_records.h"
#include "recordpipe/base/error.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

struct Done {
  size_t number;
  size_t threads;
  std::thread::id thread;
};

std::vector<Done> do_all(size_t count, size_t threads, const std::set<size_t>& alone,
                         size_t wanted = SIZE_MAX) {
  std::vector<Done> done;
  for_each_file<Done>(
      count, threads, [&](size_t number) { return FileTurn{.is_alone = alone.contains(number)}; },
      [](FileShare share) {
        return Done{share.number, share.threads, std::this_thread::get_id()};
      },
      [&](Done one) {
        done.push_back(one);
        return done.size() < wanted;
      });
  return done;
}

TEST(ManyFiles, ResultsAreInOrder) {
  for (const size_t threads : {1, 2, 7}) {
    for (const std::set<size_t>& alone : {std::set<size_t>{}, {0, 3, 4, 99}, {50}}) {
      const auto done = do_all(100, threads, alone);
      ASSERT_EQ(done.size(), 100u);
      for (size_t i = 0; i < 100; ++i) EXPECT_EQ(done[i].number, i);
    }
  }
  EXPECT_TRUE(do_all(0, 2, {}).empty());
}

TEST(ManyFiles, AFileAloneGetsAllThreadsAndTheCallersOne) {
  const auto done = do_all(10, 4, {3});
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(done[i].threads, i == 3 ? 4u : 1u);
  }
  EXPECT_EQ(done[3].thread, std::this_thread::get_id());
  EXPECT_EQ(do_all(1, 4, {})[0].threads, 4u);
  EXPECT_EQ(do_all(2, 4, {})[0].threads, 2u);
}

TEST(ManyFiles, SmallFilesShareATask) {
  std::vector<size_t> asked;
  const auto turn_of = [&](size_t number) {
    asked.push_back(number);
    FileTurn turn{.status = {.is_local_regular = true, .size = 100}, .is_small = number != 150};
    turn.is_alone = number == 200;
    return turn;
  };
  std::atomic<size_t> tasks = 0;
  std::vector<size_t> numbers;
  for_each_file<size_t>(
      1000, 2, turn_of,
      [&](FileShare share) {
        static thread_local size_t last = SIZE_MAX - 1;
        if (share.number != last + 1) ++tasks;
        last = share.number;
        EXPECT_EQ(share.turn.status.size, 100u);
        return share.number;
      },
      [&](size_t number) {
        numbers.push_back(number);
        return true;
      });
  std::vector<size_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(numbers, all);
  EXPECT_EQ(asked, all);  // once each
  EXPECT_LE(tasks, 1000 / kMaxFilesInGroup + 5);
}

TEST(ManyFiles, EndsWhenNoMoreAreWanted) { EXPECT_EQ(do_all(1000, 3, {}, 5).size(), 5u); }

class ManyFilesErrors : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(AloneOrInGroups, ManyFilesErrors, testing::Bool());

TEST_P(ManyFilesErrors, TheFirstInTheirOrderIsThrown) {
  std::vector<size_t> consumed;
  try {
    for_each_file<size_t>(
        100, 4, [](size_t) { return FileTurn{.is_small = GetParam()}; },
        [](FileShare share) {
          if (share.number == 20 || share.number == 21) {
            throw Error({.kind = ErrorKind::io, .reason = std::to_string(share.number)});
          }
          return share.number;
        },
        [&](size_t number) {
          consumed.push_back(number);
          return true;
        });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), "20");
  }
  EXPECT_EQ(consumed.size(), 20u);
}

class RecordsOfFilesTest : public testing::Test {
 protected:
  // Writes a file of records NAME.0, NAME.1, ...
  std::string write(const std::string& name, int count, Compression compression) {
    const std::string path = folder_ / name;
    RecordWriter writer(posix_file_system(), path, {.compression = compression});
    for (int i = 0; i < count; ++i) {
      expected_.push_back(name + "." + std::to_string(i));
      writer.write(as_bytes(expected_.back()));
    }
    writer.close();
    return path;
  }

  TemporaryDirectory folder_;
  std::vector<std::string> expected_;
};

TEST_F(RecordsOfFilesTest, AreThoseOfOneFileAfterTheOther) {
  std::vector<std::string> paths;
  for (int i = 0; i < 60; ++i) {
    constexpr Compression kAll[] = {Compression::none, Compression::gzip, Compression::zstd};
    paths.push_back(write("f" + std::to_string(i), i % 7 == 0 ? 0 : 10 * i, kAll[i % 3]));
  }
  const FileWork work{.files = posix_file_system()};
  for (const size_t threads : {1, 2, 9}) {
    RecordsOfFiles records(work, paths, {}, threads);
    std::vector<std::string> found;
    std::vector<std::string_view> names;
    while (const auto record = records.read()) {
      found.push_back(as_text(record->data));
      names.push_back(record->path);
    }
    ASSERT_EQ(found, expected_);
    EXPECT_EQ(names.front(), paths[1]);  // valid though other files have been read since
    EXPECT_EQ(names.back(), paths.back());
    EXPECT_FALSE(records.read());
  }
  const std::vector<std::string> no_paths;
  RecordsOfFiles none(work, no_paths, {}, 2);
  EXPECT_FALSE(none.read());
}

TEST_F(RecordsOfFilesTest, AnErrorComesAtItsPlace) {
  std::vector<std::string> paths = {write("a", 3, Compression::gzip), folder_ / "missing",
                                    write("b", 1, Compression::none)};
  const FileWork work{.files = posix_file_system()};
  RecordsOfFiles records(work, paths, {}, 4);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(records.read());
  try {
    records.read();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
    EXPECT_EQ(error.path(), paths[1]);
  }
}

// Opening a stream ahead would wait for its data, though its turn may never come.
TEST_F(RecordsOfFilesTest, AStreamIsOpenedAtItsTurn) {
  std::atomic<int> opened = 0;
  const std::vector<std::string> paths = {write("a", 2, Compression::none), "-"};
  const FileWork work{.files = posix_file_system(), .open_stream = [&](const std::string&) {
                        ++opened;
                        return posix_file_system().open_source("/dev/null");
                      }};
  RecordsOfFiles records(work, paths, {}, 4);
  EXPECT_TRUE(records.read());
  EXPECT_TRUE(records.read());
  EXPECT_EQ(opened, 0);
  EXPECT_FALSE(records.read());
  EXPECT_EQ(opened, 1);
}

TEST_F(RecordsOfFilesTest, LimitsCountRecordsOfAllFiles) {
  std::vector<std::string> paths;
  for (int i = 0; i < 10; ++i) paths.push_back(write(std::to_string(i), 5, Compression::none));
  const FileWork work{.files = posix_file_system()};
  EXPECT_EQ(infer_schema(work, paths).records, 50u);
  EXPECT_EQ(infer_schema(work, paths, {.filter = RecordFilter({}, 13)}).records, 13u);
}

}  // namespace
}  // namespace recordpipe
