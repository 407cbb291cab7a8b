// Reads headers in order, from mapped and other files, and compares records and errors with those
// of RecordReader.
#include "dataset/record/record_header_reader.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record_index.h"
#include "recordpipe/record/record_reader.h"
#include "tests/support/bytes.h"
#include "tests/support/framed_records.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

struct HeadersRead {
  std::vector<RecordIndexEntry> entries = {};
  std::string error = {};
  bool operator==(const HeadersRead&) const = default;
};

HeadersRead by_reader(const std::string& path) {
  HeadersRead outcome;
  try {
    RecordReader reader(posix_file_system(), path, {.compression = Compression::none});
    while (const auto record = reader.read()) {
      outcome.entries.push_back({record->offset, record->data.size() + kRecordOverhead});
    }
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  return outcome;
}

HeadersRead by_headers(const RandomAccessFile& file) {
  HeadersRead outcome;
  try {
    RecordHeaderReader headers(file);
    while (const auto entry = headers.read()) outcome.entries.push_back(*entry);
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  return outcome;
}

class RecordHeaderReaderTest : public testing::Test {
 protected:
  void expect_same(const std::string& content) const {
    write_file(path, content);
    const HeadersRead mapped = by_headers(*posix_file_system().map(path));
    EXPECT_EQ(by_headers(*posix_file_system().open_random(path)), mapped);
    HeadersRead expected = by_reader(path);
    EXPECT_EQ(mapped.entries, expected.entries);
    EXPECT_EQ(mapped.error, expected.error);
  }

  const TemporaryDirectory directory;
  const std::string path = directory / "a";
};

TEST_F(RecordHeaderReaderTest, FindsRecordsOfAllSizes) {
  std::vector<std::string> records;
  for (const size_t size : {0, 1, 100, 65'520, 8'192, 8'177, 0, 65'536, 200'000, 3, 300'000, 9}) {
    records.emplace_back(size, 'x');
  }
  expect_same(framed(records));
  expect_same(framed(std::vector<std::string>(20'000, "short")));
  expect_same("");
}

TEST_F(RecordHeaderReaderTest, ACutAtAnyPlaceIsTheSameError) {
  const std::string content = framed({"first", "", "third"});
  for (size_t size = 0; size < content.size(); ++size) {
    SCOPED_TRACE(size);
    expect_same(content.substr(0, size));
  }
}

TEST_F(RecordHeaderReaderTest, ADamagedHeaderIsTheSameError) {
  const std::string content = framed({"first", "", "third"});
  for (const size_t begin : {size_t{0}, framed({"first"}).size()}) {
    for (size_t bit = 0; bit < 8 * kRecordHeaderSize; ++bit) {
      SCOPED_TRACE(bit);
      std::string damaged = content;
      damaged[begin + bit / 8] ^= static_cast<char>(1 << bit % 8);
      expect_same(damaged);
    }
  }
}

}  // namespace
}  // namespace recordpipe
