// Tests that scans, indexes and pipelines get the same records and errors from a file however it is
// read: mapped, by pread, through views in the reader's memory, or by ranges of a URL.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataset/record/record_header_reader.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_index.h"
#include "tests/io/http_reading_fixture.h"
#include "tests/support/framed_records.h"
#include "tests/support/scan_comparison.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/unstable_file.h"

namespace recordpipe {
namespace {

// The records, or other items, that were read before the end or an error, and the error.
struct Outcome {
  std::vector<std::string> read = {};
  std::string error = {};
  bool operator==(const Outcome&) const = default;
};

// Returns all parts of the error except the path, which differs.
std::string text_of(const Error& error) {
  return std::string(to_string(error.kind())) + " at " +
         std::to_string(error.offset().value_or(0)) + ": " + error.reason() + " (" + error.hint() +
         ")";
}

// Calls `next`, which appends the items it reads, until it returns false.
Outcome read_all(const std::function<bool(std::vector<std::string>&)>& next) {
  Outcome outcome;
  try {
    while (next(outcome.read)) {
    }
  } catch (const Error& error) {
    outcome.error = text_of(error);
  }
  return outcome;
}

Outcome by_headers(const RandomAccessFile& file) {
  RecordHeaderReader headers(file);
  return read_all([&](std::vector<std::string>& read) {
    const auto entry = headers.read();
    if (entry) read.push_back(std::to_string(entry->offset) + " " + std::to_string(entry->size));
    return entry.has_value();
  });
}

// Reads the records at `places` as if an index contained these positions.
std::vector<Outcome> by_index(const RandomAccessFile& file,
                              const std::vector<std::pair<uint64_t, uint64_t>>& places) {
  std::vector<Outcome> outcomes;
  for (const auto& [begin, end] : places) {
    outcomes.push_back(read_all([&](std::vector<std::string>& read) {
      read.emplace_back(as_text(read_indexed_record(file, {begin, end - begin})));
      return false;
    }));
  }
  return outcomes;
}

Outcome by_pipeline(const Dataset<Record>& records) {
  auto iterator = records.iterate();
  return read_all([&](std::vector<std::string>& read) {
    const Record* record = iterator.next();
    if (record != nullptr) read.emplace_back(as_text(record->data));
    return record != nullptr;
  });
}

class AnyFile : public HttpReadingTest {
 protected:
  void expect_same(const std::string& bytes) {
    write_file(path_, bytes);
    server.put("a", bytes);
    HttpFileSystem http = files();
    UnstableFileSystem unstable(bytes);
    expect_same_scan_and_index(bytes, http, unstable);
    FileSystem& local = posix_file_system();
    for (const size_t threads : {1, 3}) {
      const auto records = [&](FileSystem& files, const std::string& path) {
        return tfrecord_files(files, {path}).with_options({.threads = threads});
      };
      const Outcome in_order = by_pipeline(records(local, path_));
      EXPECT_EQ(by_pipeline(records(unstable, "a")), in_order);
      EXPECT_EQ(by_pipeline(records(http, url_)), in_order);
      const Outcome shuffled = by_pipeline(records(local, path_).global_shuffle(1));
      EXPECT_EQ(by_pipeline(records(unstable, "a").global_shuffle(1)), shuffled);
      EXPECT_EQ(by_pipeline(records(http, url_).global_shuffle(1)), shuffled);
    }
  }

  void expect_same_scan_and_index(const std::string& bytes, FileSystem& http,
                                  FileSystem& unstable) const {
    const auto mapped = posix_file_system().map(path_);
    const ScanWithReasons scan = scan_serially(*mapped);
    auto places = scan.scan.records;
    places.insert(places.end(), scan.scan.regions.begin(), scan.scan.regions.end());
    places.emplace_back(0, bytes.size() + 1);
    std::vector<std::unique_ptr<RandomAccessFile>> others;
    others.push_back(posix_file_system().open_random(path_));
    others.push_back(unstable.open_random("a"));
    others.push_back(http.open_random(url_));
    for (const auto& file : others) {
      SCOPED_TRACE(file->path());
      EXPECT_EQ(scan_serially(*file), scan);
      EXPECT_EQ(scan_in_parallel(*file, bytes, 2, 20'000), scan);
      EXPECT_EQ(by_headers(*file), by_headers(*mapped));
      EXPECT_EQ(by_index(*file, places), by_index(*mapped, places));
    }
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "a";
  const std::string url_ = server.http("/a");
};

TEST_F(AnyFile, GivesItsRecords) {
  expect_same("");
  expect_same(framed(std::vector<std::string>(500, "short")));
  std::vector<std::string> records;
  for (const size_t size : {0, 1, 100, 5'000, 70'000, 3, 300'000, 0, 20, 9'000}) {
    records.emplace_back(noise(size, records.size()));
  }
  expect_same(framed(records));
}

TEST_F(AnyFile, GivesTheSameErrorWhereverItIsDamaged) {
  const std::string bytes =
      framed({noise(50, 1), noise(3'000, 2), "", noise(40'000, 3), noise(100, 4)});
  const size_t second = 66;  // the second record's offset; the fourth follows one of 0 bytes
  const size_t fourth = second + 3'016 + 16;
  for (const size_t at : {size_t{0}, size_t{9}, size_t{20}, size_t{64}, second + 3, second + 1'000,
                          fourth, fourth + 20'000, bytes.size() - 1}) {
    SCOPED_TRACE("flipped at " + std::to_string(at));
    std::string damaged = bytes;
    damaged[at] ^= 4;
    expect_same(damaged);
  }
}

TEST_F(AnyFile, GivesTheSameErrorWhereverItEnds) {
  const std::string bytes = framed({noise(50, 1), noise(3'000, 2), noise(20'000, 3)});
  for (const size_t size : {5, 12, 40, 63, 70, 3'080, 20'000}) {
    SCOPED_TRACE("cut to " + std::to_string(size));
    expect_same(bytes.substr(0, size));
  }
  expect_same(bytes + std::string(5'000, '\0'));
  expect_same(bytes + noise(5'000, 7));
  expect_same("<html>an error</html>");
}

}  // namespace
}  // namespace recordpipe
