// Tests salvage of several files at a time: the same records and calls as of one after the other.
#include "dataset/toolkit/files/salvage_ahead.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

class SalvageAheadTest : public testing::Test {
 protected:
  // Writes a file of `count` records of `size` bytes, whose byte `flipped` is damaged.
  std::string write(const std::string& name, int count, size_t size, size_t flipped = 0,
                    Compression compression = Compression::none) {
    const std::string path = folder_ / name;
    RecordWriter writer(posix_file_system(), path, {.compression = compression});
    for (int i = 0; i < count; ++i) {
      writer.write(as_bytes(name + std::to_string(i) + std::string(size, 'x')));
    }
    writer.close();
    if (flipped > 0) {
      std::string bytes = read_file(path);
      bytes.at(flipped) ^= 1;
      write_file(path, bytes);
    }
    return path;
  }
  std::vector<std::string> some_files() {
    std::vector<std::string> paths;
    for (int i = 0; i < 30; ++i) {
      const std::string name = std::to_string(i);
      if (i % 3 == 0) {
        paths.push_back(write(name, i, 100, i > 5 ? 200 : 0));
      } else if (i % 3 == 1) {
        paths.push_back(write(name, 5000, 100, 0, Compression::gzip));
      } else {
        paths.push_back(write(name, 3, 700'000, i == 8 ? 1'000'000 : 0));
      }
    }
    return paths;
  }

  // Appends the calls of the sinks to `calls`, with consecutive intact records as one.
  static ScanSinks sinks(std::string& calls) {
    return {.opened = [&](Compression compression) { calls += to_string(compression); },
            .intact = [&](auto, uint64_t count) { calls += std::string(count, '.'); },
            .damaged =
                [&](const DamagedRegion& region) {
                  calls +=
                      "[" + std::to_string(region.begin) + "," + std::to_string(region.end) + ")";
                }};
  }

  TemporaryDirectory folder_;
  FileWork work_ = {.files = posix_file_system()};
};

TEST_F(SalvageAheadTest, AsOneFileAfterTheOther) {
  const auto paths = some_files();
  std::string expected;
  {
    RecordWriter writer(posix_file_system(), folder_ / "expected");
    for (const std::string& path : paths) {
      const ScanTotals totals = salvage_file(work_, path, {}, 1, sinks(expected), writer);
      expected += std::to_string(totals.records) + " " + std::to_string(totals.lost.bytes) + "\n";
    }
    writer.close();
  }
  const std::string records = read_file(folder_ / "expected");
  for (const size_t threads : {1, 2, 4}) {
    std::string calls;
    RecordWriter writer(posix_file_system(), folder_ / "found");
    SalvageAhead scans(work_, paths, {}, threads);
    for (size_t i = 0; i < paths.size(); ++i) {
      const ScanTotals totals = scans.next(sinks(calls), writer);
      calls += std::to_string(totals.records) + " " + std::to_string(totals.lost.bytes) + "\n";
    }
    writer.close();
    EXPECT_EQ(calls, expected);
    EXPECT_TRUE(read_file(folder_ / "found") == records) << threads;
  }
}

TEST_F(SalvageAheadTest, AnErrorComesAtItsPlace) {
  auto paths = some_files();
  paths[7] = folder_ / "missing";
  std::string calls;
  RecordWriter writer(posix_file_system(), folder_ / "found");
  SalvageAhead scans(work_, paths, {}, 3);
  for (int i = 0; i < 7; ++i) scans.next(sinks(calls), writer);
  const Error error = error_of([&] { scans.next(sinks(calls), writer); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.path(), paths[7]);
}

// The scans that are running wait for room when it ends.
TEST_F(SalvageAheadTest, MayEndEarly) {
  std::vector<std::string> paths;
  for (int i = 0; i < 6; ++i) {
    paths.push_back(write(std::to_string(i), 20, 1'000'000, 0, Compression::gzip));
  }
  for (int wanted = 0; wanted < 3; ++wanted) {
    std::string calls;
    RecordWriter writer(posix_file_system(), folder_ / "found");
    SalvageAhead scans(work_, paths, {}, 2);
    for (int i = 0; i < wanted; ++i) scans.next(sinks(calls), writer);
  }
}

}  // namespace
}  // namespace recordpipe
