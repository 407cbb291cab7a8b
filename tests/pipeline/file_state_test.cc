// Tests states of pipelines that read files: which changes to the files are detected.
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/io/atomic_file.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_writer.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/resume.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;

class FileState : public testing::Test {
 protected:
  void write(const std::string& name, int first, int count, Compression compression) {
    AtomicFile file(posix_file_system(), path(name));
    RecordWriter writer(file, {compression});
    for (int i = first; i < first + count; ++i) {
      writer.write(as_bytes("record " + std::to_string(i)));
    }
    writer.close();
    file.commit();
  }

  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }

  Dataset<std::string> lines(const std::vector<std::string>& names) const {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(path(name));
    return tfrecord_files(paths).map([](const Record& record) { return as_text(record.data); });
  }

  void SetUp() override {
    write("a", 0, 70, Compression::none);
    write("b.gz", 70, 50, Compression::gzip);
    write("c", 120, 0, Compression::none);
    write("d", 120, 33, Compression::none);
  }

  TemporaryDirectory directory_;
};

TEST_F(FileState, GoesOnInPlainAndCompressedFiles) {
  const auto dataset = lines({"a", "b.gz", "c", "d"});
  ASSERT_EQ(collect(dataset).size(), 153u);
  expect_resumes_anywhere(dataset, on_any_machine(dataset));
  const auto shuffled = dataset.shuffle(40, 1).repeat(2).batch(8).prefetch(2);
  expect_resumes_anywhere(shuffled, on_any_machine(shuffled));
}

TEST_F(FileState, AChangedFileIsRefusedByName) {
  const auto dataset = lines({"a", "b.gz", "d"});
  Iterator<std::string> iterator = dataset.iterate();
  for (int i = 0; i < 130; ++i) iterator.next();
  const std::string state = iterator.state();
  write("d", 121, 33, Compression::none);  // same size as before
  Iterator<std::string> fresh = dataset.iterate();
  const Error error = error_of([&] { fresh.restore(state); });
  EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(error.path(), path("d"));
  EXPECT_THAT(error.reason(), HasSubstr("has changed"));
}

TEST_F(FileState, AFileIsWhatItWasWhenItWasOpened) {
  for (const std::string name : {"a", "b.gz"}) {
    const auto dataset = lines({name, "d"});
    Iterator<std::string> iterator = dataset.iterate();
    iterator.next();
    const Compression compression = name == "a" ? Compression::none : Compression::gzip;
    write(name, 300, 60, compression);  // the iterator continues with the old file
    const std::string state = iterator.state();
    Iterator<std::string> fresh = dataset.iterate();
    EXPECT_EQ(error_of([&] { fresh.restore(state); }).path(), path(name));
    SetUp();
    fresh.restore(state);
    EXPECT_TRUE(rest_of(fresh) == rest_of(iterator));
  }
}

TEST_F(FileState, FilesAreLookedAtOnceToSave) {
  Iterator<std::string> iterator = lines({"a", "b.gz", "d"}).iterate();
  iterator.next();
  const std::string state = iterator.state();
  for (const char* name : {"a", "b.gz", "d"}) posix_file_system().remove(path(name));
  EXPECT_EQ(iterator.state(), state);
}

TEST_F(FileState, AFileThatIsNotOpenYetIsLookedAtAgainToRestore) {
  const auto dataset = from_vector(numbers(3)).map([](int x) { return std::to_string(x); });
  Iterator<std::string> iterator = dataset.concatenate(lines({"d"})).iterate();
  const std::string state = iterator.state();
  write("d", 121, 33, Compression::none);
  iterator.restore(state);  // for a file that isn't open yet, only name and size are compared
  EXPECT_EQ(rest_of(iterator).back(), "record 153");
  write("d", 120, 32, Compression::none);
  EXPECT_EQ(error_of([&] { dataset.concatenate(lines({"d"})).iterate().restore(state); }).path(),
            path("d"));
}

// Saving or restoring a pipeline over many files must not read all of them.
TEST_F(FileState, OnlyFilesThatWereOpenedAreRead) {
  constexpr uint64_t kFiles = 1000;
  constexpr uint64_t kOpened = 3;
  // Calls needed to fingerprint a file: its status, opening it, and at most 18 blocks.
  constexpr uint64_t kContent = 20;
  write("ten", 0, 10, Compression::none);
  write("ten.gz", 0, 10, Compression::gzip);
  std::vector<std::string> paths;
  for (uint64_t i = 0; i < kFiles; ++i) {
    paths.push_back(path("many-" + std::to_string(i)));
    std::filesystem::copy_file(path(i == 1 ? "ten.gz" : "ten"), paths.back());
  }
  FaultyFileSystem files(posix_file_system());
  const auto records = tfrecord_files(files, paths).with_options({.threads = 1, .chunk_size = 5});
  const auto calls_of = [&](const auto& action) {
    const uint64_t before = files.calls();
    action();
    return files.calls() - before;
  };
  auto iterator = records.iterate();
  for (int i = 0; i < 25; ++i) iterator.next();
  std::string state;
  EXPECT_EQ(calls_of([&] { state = iterator.state(); }), kFiles - kOpened);  // only file sizes
  EXPECT_EQ(calls_of([&] { EXPECT_EQ(iterator.state(), state); }), 0u);
  for (int i = 0; i < 200; ++i) iterator.next();
  EXPECT_EQ(calls_of([&] { iterator.state(); }), 0u);

  auto restored = records.iterate();
  EXPECT_LE(calls_of([&] { restored.restore(state); }), kFiles + kContent * kOpened + kContent);
  EXPECT_EQ(restored.position(), 25u);
  EXPECT_EQ(as_text(restored.next()->data), "record 5");
  // At the beginning, sizes are saved and compared, and no file is read.
  EXPECT_LT(calls_of([&] { records.iterate().restore(records.iterate().state()); }),
            2 * kFiles + kContent);
}

TEST_F(FileState, AChangeInTheMiddleIsSeen) {
  // Changes one record of a small file, or about a fifteenth of the records of a larger one.
  for (const auto& [records, changed] : {std::pair(1'000, 1), std::pair(100'000, 7'000)}) {
    const auto write_with = [&](int first, int count) {
      AtomicFile file(posix_file_system(), path("m"));
      RecordWriter writer(file, {});
      for (int i = 0; i < records; ++i) {
        const bool other = i >= first && i < first + count;
        writer.write(as_bytes((other ? "Other " : "record") + std::to_string(100'000 + i)));
      }
      writer.close();
      file.commit();
    };
    write_with(0, 0);
    Iterator<std::string> iterator = lines({"m"}).iterate();
    iterator.next();
    const std::string state = iterator.state();
    for (int part = 1; part < 15; part += 3) {
      write_with(records / 15 * part, changed);
      Iterator<std::string> fresh = lines({"m"}).iterate();
      EXPECT_EQ(error_of([&] { fresh.restore(state); }).path(), path("m")) << part;
    }
  }
}

TEST_F(FileState, MovedFilesAreTheSame) {
  Iterator<std::string> iterator = lines({"a", "d"}).iterate();
  for (int i = 0; i < 80; ++i) iterator.next();
  const std::string state = iterator.state();
  posix_file_system().make_directories(path("elsewhere"));
  posix_file_system().rename(path("a"), path("elsewhere/a"));
  posix_file_system().rename(path("d"), path("elsewhere/d"));
  Iterator<std::string> fresh = lines({"elsewhere/a", "elsewhere/d"}).iterate();
  fresh.restore(state);
  EXPECT_TRUE(rest_of(fresh) == rest_of(iterator));
}

// The files are not part of the plan: elements are mapped to datasets that read them.
class InputFileState : public FileState {
 protected:
  static constexpr int kFiles = 12;
  static constexpr int kRecords = 20;

  void SetUp() override {
    for (int i = 0; i < kFiles; ++i) write_input(i, i * kRecords);
  }
  static std::string name(int i) { return (i < 10 ? "part-0" : "part-") + std::to_string(i); }
  static Compression compression(int i) {
    return i % 4 == 1 ? Compression::gzip : Compression::none;
  }
  // All records have the same length, whatever `first` is.
  void write_input(int i, int first) { write(name(i), 1000 + first, kRecords, compression(i)); }

  auto open() const {
    return [folder = directory_.path()](int i) {
      return tfrecord_files({folder + "/" + name(i)}).map([](const Record& record) {
        return as_text(record.data);
      });
    };
  }
};

TEST_F(InputFileState, GoesOnInTheFilesOfInputs) {
  const auto parts = from_vector(numbers(kFiles));
  const auto turns = parts.interleave(open(), 3, 2).repeat(2);
  expect_resumes_anywhere(turns, on_any_machine(turns), 7);
  const auto shuffled = turns.shuffle(60, 1).prefetch(4);
  expect_resumes_anywhere(shuffled, on_any_machine(shuffled), 31);
}

TEST_F(InputFileState, AChangedFileOfAnInputIsRefusedByName) {
  const auto parts = from_vector(numbers(kFiles));
  for (const auto& dataset :
       {parts.interleave(open(), 3, 2), parts.flat_map(open()),
        parts.interleave(open(), 3).prefetch(5),
        parts.interleave(
            [open = open()](int i) { return from_vector(std::vector{i}).flat_map(open); }, 3)}) {
    // The state is saved when some files have been partly read; part-01 is compressed.
    for (const auto& [read, changed] : {std::pair(5, 0), std::pair(25, 1)}) {
      const auto run = dataset.with_options({.threads = 2, .chunk_size = 4});
      Iterator<std::string> saving = run.iterate();
      for (int i = 0; i < read; ++i) ASSERT_NE(saving.next(), nullptr);
      const std::string state = saving.state();
      const std::vector<std::string> rest = rest_of(saving);

      write_input(changed, 500);
      Iterator<std::string> fresh = run.iterate();
      Error error = error_of([&] { fresh.restore(state); });
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_EQ(error.path(), path(name(changed)));
      EXPECT_THAT(error.reason(), HasSubstr("has changed"));
      EXPECT_EQ(fresh.position(), 0u);
      posix_file_system().remove(path(name(changed)));
      EXPECT_EQ(error_of([&] { fresh.restore(state); }).path(), path(name(changed)));

      write_input(changed, changed * kRecords);
      fresh.restore(state);
      EXPECT_EQ(rest_of(fresh), rest);
    }
  }
}

// The file was read to its end, but some of its records are still in the shuffle buffer.
TEST_F(InputFileState, AChangedFileWhoseRecordsAreBufferedIsRefused) {
  const auto dataset = from_vector(numbers(kFiles)).flat_map(open()).shuffle(6 * kRecords, 1);
  Iterator<std::string> saving = dataset.iterate();
  saving.next();
  const std::string state = saving.state();
  write_input(2, 500);
  Iterator<std::string> fresh = dataset.iterate();
  EXPECT_EQ(error_of([&] { fresh.restore(state); }).path(), path(name(2)));
}

TEST_F(InputFileState, AfterAFailedRestoreFilesAreLookedAtOnceAsEver) {
  FaultyFileSystem files(posix_file_system());
  const auto records =
      from_vector(std::vector<std::string>{path(name(1))})
          .repeat(100)
          .flat_map([&](const std::string& gz) { return tfrecord_files(files, {gz}); })
          .with_options({.threads = 1});
  const auto calls_of_a_pass = [&](auto& iterator) {
    const uint64_t before = files.calls();
    rest_of(iterator);
    return files.calls() - before;
  };
  auto saving = records.iterate();
  for (int i = 0; i < 61 * kRecords - 1; ++i) saving.next();
  const std::string state = saving.state();
  write(name(1), 1000, 2, Compression::gzip);
  auto iterator = records.iterate();
  EXPECT_EQ(error_of([&] { iterator.restore(state); }).kind(), ErrorKind::invalid_argument);
  auto fresh = records.iterate();
  EXPECT_LE(calls_of_a_pass(iterator), calls_of_a_pass(fresh));
}

TEST_F(InputFileState, AFileThatIsNotReadYetMayChange) {
  const auto dataset =
      from_vector(numbers(kFiles)).flat_map(open()).with_options({.threads = 1, .chunk_size = 1});
  Iterator<std::string> saving = dataset.iterate();
  saving.next();
  const std::string state = saving.state();
  write_input(kFiles - 1, 500);
  Iterator<std::string> fresh = dataset.iterate();
  fresh.restore(state);
  EXPECT_EQ(rest_of(fresh).back(), "record 1519");
}

TEST_F(InputFileState, MovedFilesOfInputsAreTheSame) {
  const auto in = [&](const std::string& folder) {
    return from_vector(numbers(kFiles))
        .interleave(
            [folder](int i) {
              return tfrecord_files({folder + "/" + name(i)}).map([](const Record& record) {
                return as_text(record.data);
              });
            },
            3);
  };
  Iterator<std::string> saving = in(path("")).iterate();
  for (int i = 0; i < 50; ++i) saving.next();
  const std::string state = saving.state();
  posix_file_system().make_directories(path("elsewhere"));
  for (int i = 0; i < kFiles; ++i) {
    posix_file_system().rename(path(name(i)), path("elsewhere/" + name(i)));
  }
  Iterator<std::string> fresh = in(path("elsewhere")).iterate();
  fresh.restore(state);
  EXPECT_EQ(rest_of(fresh).size(), static_cast<size_t>(kFiles * kRecords - 50));
}

}  // namespace
}  // namespace recordpipe
