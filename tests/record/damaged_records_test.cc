// Tests the messages, offsets and hints of the errors for truncated files, damaged files and files
// of other formats, both as streams and mapped.
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/internal/endian.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// The records that a reader returned, and the error that ended it, if any.
struct Outcome {
  std::vector<std::string> records;
  std::optional<Error> error = {};
};

Outcome read_stream(RecordReader reader) {
  Outcome outcome;
  try {
    while (const auto record = reader.read()) outcome.records.push_back(as_text(record->data));
  } catch (const Error& error) {
    outcome.error = error;
    if (reader.reads_on()) return outcome;
    // The error and its position are sticky.
    EXPECT_STREQ(error_of([&] { reader.read(); }).what(), error.what());
    if (reader.compression() == Compression::none) {
      EXPECT_EQ(reader.offset(), error.offset());
    }
  }
  return outcome;
}

enum class Way { stream, mapped };

class DamagedFile : public testing::TestWithParam<Way> {
 protected:
  TemporaryDirectory directory;
  const std::string path = directory / "a.tfrecords";
  FileSystem& files = posix_file_system();

  Outcome read(const std::string& content, RecordReadOptions options = {}) {
    write_file(path, content);
    if (GetParam() == Way::stream) return read_stream(RecordReader(files, path, options));
    Outcome outcome;
    try {
      const MappedRecordFile file(files, path, options);
      for (size_t i = 0; i < file.size(); ++i)
        outcome.records.push_back(as_text(file.read(i).data));
    } catch (const Error& error) {
      outcome.error = error;
    }
    return outcome;
  }

  // Expects an error of `kind` at `offset` whose reason ends in `words`; a stream must have
  // returned the records before it.
  Error expect_error(const Outcome& outcome, ErrorKind kind, uint64_t offset, const char* words) {
    if (!outcome.error) {
      ADD_FAILURE() << "no error";
      return Error({});
    }
    EXPECT_EQ(outcome.error->kind(), kind);
    EXPECT_EQ(outcome.error->path(), path);
    EXPECT_THAT(outcome.error->what(), StartsWith(path + ": "));
    EXPECT_THAT(outcome.error->what(), HasSubstr(words + (" at " + std::to_string(offset))));
    EXPECT_NE(outcome.error->hint(), "");
    return *outcome.error;
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, DamagedFile, testing::Values(Way::stream, Way::mapped),
                         [](const auto& instance) {
                           return instance.param == Way::stream ? "stream" : "mapped";
                         });

std::string framed(const std::vector<std::string>& records) {
  std::string out;
  for (const std::string& record : records) append_framed(as_bytes(record), out);
  return out;
}

// Returns a header with a valid CRC for a record of `length` bytes.
std::string header_of(uint64_t length) { return as_text(encode_record_header(length)); }

const std::vector<std::string> kThree = {"first", "", std::string(30, 'z')};

TEST_P(DamagedFile, AnEmptyFileHasNoRecords) {
  const Outcome outcome = read("");
  EXPECT_FALSE(outcome.error);
  EXPECT_THAT(outcome.records, IsEmpty());
}

TEST_P(DamagedFile, ARecordOfNoBytesIsValid) {
  const Outcome outcome = read(framed({"", ""}));
  EXPECT_FALSE(outcome.error);
  EXPECT_THAT(outcome.records, ElementsAre("", ""));
}

TEST_P(DamagedFile, OneToElevenBytesAreATornHeader) {
  for (size_t size = 1; size <= 11; ++size) {
    const Error error = expect_error(read(framed({"foo"}).substr(0, size)), ErrorKind::truncated, 0,
                                     "truncated record");
    EXPECT_THAT(error.reason(), HasSubstr("header"));
  }
}

TEST_P(DamagedFile, ACutPayload) {
  const Error error = expect_error(read(framed({"first", "second"}).substr(0, 21 + 12 + 3)),
                                   ErrorKind::truncated, 21, "truncated record");
  EXPECT_THAT(error.reason(), HasSubstr("inside the data:"));
}

TEST_P(DamagedFile, ACutFooter) {
  for (size_t missing = 1; missing <= 4; ++missing) {
    const std::string content = framed({"first", "second"});
    const Error error = expect_error(read(content.substr(0, content.size() - missing)),
                                     ErrorKind::truncated, 21, "truncated record");
    EXPECT_THAT(error.reason(), HasSubstr("inside the data CRC:"));
  }
}

TEST_P(DamagedFile, ACutAtEveryLength) {
  const std::string content = framed(kThree);
  for (size_t size = 0; size < content.size(); ++size) {
    SCOPED_TRACE(size);
    const Outcome outcome = read(content.substr(0, size));
    std::vector<std::string> whole;
    uint64_t start = 0;
    for (const std::string& record : kThree) {
      if (start + record.size() + kRecordOverhead > size) break;
      whole.push_back(record);
      start += record.size() + kRecordOverhead;
    }
    if (size == start) {
      EXPECT_FALSE(outcome.error);
      EXPECT_EQ(outcome.records, whole);
    } else {
      expect_error(outcome, ErrorKind::truncated, start, "truncated record");
      if (GetParam() == Way::stream) {
        EXPECT_EQ(outcome.records, whole);
      }
    }
  }
}

TEST_P(DamagedFile, AFlippedBitAtEveryPosition) {
  const std::string content = framed(kThree);
  for (size_t bit = 0; bit < 8 * content.size(); ++bit) {
    SCOPED_TRACE(bit);
    std::string damaged = content;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const Outcome outcome = read(damaged);
    std::vector<std::string> before;
    uint64_t start = 0;
    for (const std::string& record : kThree) {
      if (start + record.size() + kRecordOverhead > bit / 8) break;
      before.push_back(record);
      start += record.size() + kRecordOverhead;
    }
    const Error error = expect_error(outcome, ErrorKind::corrupted, start, "corrupted record");
    EXPECT_THAT(error.reason(), HasSubstr(bit / 8 - start < kRecordHeaderSize ? "length" : "data"));
    // A mapped file with a damaged length can't be opened.
    const bool delivered = GetParam() == Way::stream || bit / 8 - start >= kRecordHeaderSize;
    if (delivered) {
      EXPECT_EQ(outcome.records, before);
    }
  }
}

TEST_P(DamagedFile, AnUnmaskedCrcIsNamedInTheHint) {
  std::string content = framed({"foo"});
  store_little_endian(crc32c(as_bytes("foo")), reinterpret_cast<std::byte*>(&content[15]));
  Error error = expect_error(read(content), ErrorKind::corrupted, 0, "corrupted record");
  EXPECT_THAT(error.hint(), HasSubstr("CRC checks off"));

  content = framed({"foo"});
  store_little_endian(crc32c(as_bytes(content).first(8)),
                      reinterpret_cast<std::byte*>(&content[8]));
  error = expect_error(read(content), ErrorKind::corrupted, 0, "corrupted record");
  EXPECT_THAT(error.hint(), HasSubstr("CRC checks off"));
}

// Some real files have zeros instead of CRCs, because their writers were wrong.
TEST_P(DamagedFile, ZeroCrcsCanBeReadWithChecksOffOnly) {
  std::string content = framed({"first", "second"});
  for (const size_t at : {8u, 17u, 29u, 39u}) content.replace(at, 4, 4, '\0');
  const Error error = expect_error(read(content), ErrorKind::corrupted, 0, "corrupted record");
  EXPECT_THAT(error.hint(), HasSubstr("CRC checks off"));
  const Outcome outcome = read(content, {.crc = CrcCheck::never});
  EXPECT_FALSE(outcome.error);
  EXPECT_THAT(outcome.records, ElementsAre("first", "second"));
}

TEST_P(DamagedFile, WithChecksOffTheFramingStillCounts) {
  const std::string content = framed({"first", "second"});
  for (size_t size = 22; size < content.size(); ++size) {
    expect_error(read(content.substr(0, size), {.crc = CrcCheck::never}), ErrorKind::truncated, 21,
                 "truncated record");
  }
}

TEST_P(DamagedFile, TheGreatestLengthWithARightCrc) {
  const std::string content = framed({"first"}) + header_of(UINT64_MAX) + "data";
  for (const CrcCheck crc : {CrcCheck::once, CrcCheck::never}) {
    expect_error(read(content, {.crc = crc}), ErrorKind::corrupted, 21,
                 "a length of 18446744073709551615 bytes, more than any file has: corrupted "
                 "record");
  }
  // The sum of the sizes of a record's parts must not overflow.
  for (const uint64_t length : {UINT64_MAX, UINT64_MAX - 15, UINT64_MAX - 16, UINT64_MAX - 28}) {
    EXPECT_TRUE(read(framed({"first"}) + header_of(length) + std::string(100, 'x'),
                     {.max_record_size = UINT64_MAX})
                    .error);
  }
}

TEST_P(DamagedFile, ALengthBeyondTheFile) {
  expect_error(read(header_of(1000) + std::string(999, 'x')), ErrorKind::truncated, 0,
               "truncated record");
}

TEST_P(DamagedFile, GarbageAtTheEnd) {
  const Outcome outcome = read(framed(kThree) + "some garbage after the end");
  expect_error(outcome, ErrorKind::corrupted, framed(kThree).size(), "corrupted record");
  if (GetParam() == Way::stream) {
    EXPECT_EQ(outcome.records, kThree);
  }
}

TEST_P(DamagedFile, ATailOfZeros) {
  const Outcome outcome = read(framed(kThree) + std::string(4096, '\0'));
  const Error error =
      expect_error(outcome, ErrorKind::corrupted, framed(kThree).size(), "corrupted record");
  EXPECT_THAT(error.hint(), HasSubstr("not written to its end"));
  if (GetParam() == Way::stream) {
    EXPECT_EQ(outcome.records, kThree);
  }
}

TEST_P(DamagedFile, HintsSayWhatTheFileIs) {
  const auto hint_of = [&](const std::string& content) {
    return expect_error(read(content, {.compression = Compression::none}), ErrorKind::corrupted, 0,
                        "corrupted record")
        .hint();
  };
  EXPECT_THAT(hint_of("version https://git-lfs.github.com/spec/v1\n"), HasSubstr("git lfs pull"));
  EXPECT_THAT(hint_of("<!DOCTYPE html><html>"), HasSubstr("HTML"));
  EXPECT_THAT(hint_of("\n <html lang=\"en\">"), HasSubstr("HTML"));
  EXPECT_THAT(hint_of("\x28\xb5\x2f\xfd"
                      "12345678"),
              HasSubstr("zstd"));
  EXPECT_THAT(hint_of("\x1f\x8b\x08"
                      "123456789"),
              HasSubstr("gzip"));
  EXPECT_THAT(hint_of("\x78\x9c"
                      "1234567890"),
              HasSubstr("zlib"));
  EXPECT_THAT(hint_of(std::string(1000, '\0')), HasSubstr("zeros"));
  EXPECT_THAT(hint_of("PAR1\x15\x04\x15\x18\x15\x1c\x4c\x15"), HasSubstr("Parquet"));
  EXPECT_THAT(hint_of(std::string("ARROW1\0\0\xff\xff\xff\xff", 12)), HasSubstr("an Arrow file"));
  EXPECT_THAT(hint_of(from_hex("ffffffff f8000000 10000000")), HasSubstr("stream of Arrow"));
  EXPECT_THAT(hint_of(from_hex("89484446 0d0a1a0a 00000000 00080800")), HasSubstr("HDF5"));
  EXPECT_THAT(
      hint_of(from_hex("83af70d10d884a3f 0000000000000000 4000000000000000 91bac23c9287e1a9")),
      HasSubstr("ArrayRecord"));
  EXPECT_THAT(hint_of(from_hex("504b0304 14000000 00000000")), HasSubstr("zip"));
  EXPECT_THAT(hint_of("a/b.txt" + std::string(250, 'x') + "ustar"), HasSubstr("tar archive"));
  EXPECT_THAT(hint_of("\x93NUMPY" + std::string("\x01\0v\0{'descr'", 12)), HasSubstr("NumPy"));
  EXPECT_THAT(hint_of(std::string(8, '\1') + std::string(8, '\2') + "\xde\xc0\xef\xbe"),
              HasSubstr("LMDB"));
  EXPECT_THAT(hint_of("the quick brown fox"), HasSubstr("probably not a TFRecord file"));
}

// If a reader checked only two bytes, it would mistake these files for compressed ones.
TEST_P(DamagedFile, LengthsThatLookCompressedArePlain) {
  for (const size_t length : {0x8b1fu, 0x9c78u, 0x0178u}) {
    const std::string record(length, 'x');
    const Outcome outcome = read(framed({record}));
    EXPECT_FALSE(outcome.error);
    EXPECT_THAT(outcome.records, ElementsAre(record));
  }
}

TEST_P(DamagedFile, LengthsThatLookCompressedArePlainWithoutCrcsToo) {
  for (const size_t length : {0x8b1fu, 0x9c78u, 0x0178u}) {
    const std::string record(length, 'x');
    std::string content = framed({record});
    content.replace(8, 4, 4, '\0');
    content.replace(content.size() - 4, 4, 4, '\0');
    const Outcome outcome = read(content, {.crc = CrcCheck::never});
    EXPECT_FALSE(outcome.error);
    EXPECT_THAT(outcome.records, ElementsAre(record));
  }
}

TEST_P(DamagedFile, DirectoriesAndMissingFilesAreNamed) {
  const auto open = [&](const std::string& name) {
    if (GetParam() == Way::stream) {
      RecordReader(files, name);
    } else {
      MappedRecordFile(files, name);
    }
  };
  EXPECT_EQ(error_of([&] { open(directory.path()); }).kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(error_of([&] { open(directory / "missing"); }).kind(), ErrorKind::not_found);
  EXPECT_EQ(error_of([&] { open(directory / "missing"); }).path(), directory / "missing");
}

TEST_P(DamagedFile, APathWithANewlineStaysOneLine) {
  const std::string odd = directory / "new\nline\xff";
  write_file(odd, "x");
  const Error error = error_of([&] {
    if (GetParam() == Way::stream) {
      RecordReader(files, odd).read();
    } else {
      MappedRecordFile(files, odd);
    }
  });
  EXPECT_EQ(error.path(), odd);
  EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
}

}  // namespace
}  // namespace recordpipe
