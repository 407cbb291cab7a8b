// Tests datasets of the records of files: mapped and streamed, intact and damaged.
#include "recordpipe/pipeline/tfrecord_files.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/list_files.h"
#include "recordpipe/record/record_writer.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/resume.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/unstable_file.h"

namespace recordpipe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Returns "0.0", "0.1", ... for file 0, padded to up to 500 bytes, so that several records share a
// read buffer.
std::string payload(int file, int record) {
  return std::to_string(file) + "." + std::to_string(record) +
         std::string(static_cast<size_t>(record * 37 % 500), '.');
}

std::vector<std::string> texts(const Dataset<Record>& records) {
  return collect(records.map([](const Record& record) { return as_text(record.data); }));
}

class TfrecordFiles : public ::testing::Test {
 protected:
  TemporaryDirectory directory;

  std::string write(const std::string& name, int file, int records,
                    Compression compression = Compression::none) {
    const std::string path = directory / name;
    RecordWriter writer(posix_file_system(), path, {.compression = compression});
    for (int i = 0; i < records; ++i) writer.write(as_bytes(payload(file, i)));
    writer.close();
    return path;
  }

  static std::vector<std::string> expected(std::vector<int> records_of_file) {
    std::vector<std::string> out;
    for (size_t file = 0; file < records_of_file.size(); ++file) {
      for (int i = 0; i < records_of_file[file]; ++i) {
        out.push_back(payload(static_cast<int>(file), i));
      }
    }
    return out;
  }
};

TEST_F(TfrecordFiles, NumbersOfRecordsThatAreKnown) {
  const std::vector<CountedRecordFile> files = {
      {write("a", 0, 5), 5}, {write("b", 1, 0), 0}, {write("c", 2, 7), 7}};
  const Dataset<Record> counted = listed_tfrecord_files(posix_file_system(), files);
  EXPECT_EQ(texts(counted), expected({5, 0, 7}));
  EXPECT_EQ(texts(counted.global_shuffle(3)),
            texts(tfrecord_files({files[0].path, files[1].path, files[2].path}).global_shuffle(3)));
  EXPECT_EQ(texts(counted.skip(4).take(3)),
            texts(tfrecord_files({files[0].path, files[2].path}).skip(4).take(3)));
  EXPECT_EQ(counted.cardinality(), 12);
}

TEST_F(TfrecordFiles, AnotherNumberOfRecordsThanIsKnown) {
  const std::vector<CountedRecordFile> files = {{write("a", 0, 5), 5}, {write("b", 1, 3), 4}};
  const Dataset<Record> counted = listed_tfrecord_files(posix_file_system(), files);
  for (const size_t threads : {1, 3}) {
    const auto records = counted.with_options({.threads = threads});
    std::vector<std::string> before;
    const Error error = error_of([&] {
      for (const std::string& text :
           records.map([](const Record& record) { return as_text(record.data); })) {
        before.push_back(text);
      }
    });
    EXPECT_EQ(before, expected({5}));
    EXPECT_EQ(error.kind(), ErrorKind::corrupted);
    EXPECT_EQ(error.path(), files[1].path);
    EXPECT_THAT(error.reason(), HasSubstr("3 records, where 4 are expected"));
    EXPECT_EQ(error_of([&] { texts(records.global_shuffle(1)); }).kind(), ErrorKind::corrupted);
  }
  EXPECT_EQ(texts(counted.take(5)), expected({5}));
}

TEST_F(TfrecordFiles, YieldsFileAfterFileWhateverTheirCompression) {
  const std::vector<std::string> paths = {write("a", 0, 700),
                                          write("b", 1, 0),
                                          write("c", 2, 1),
                                          write("d", 3, 900, Compression::gzip),
                                          write("e", 4, 5, Compression::zlib),
                                          write("f.zst", 5, 90, Compression::zstd)};
  const auto records = tfrecord_files(paths);
  for (const size_t threads : {1, 2, 8}) {
    for (const size_t chunk_size : {1, 64, 5000}) {
      const auto run = records.with_options({.threads = threads, .chunk_size = chunk_size});
      EXPECT_EQ(texts(run), expected({700, 0, 1, 900, 5, 90}));
    }
  }
}

TEST_F(TfrecordFiles, RecordsOfStreamsOutliveShufflesAndRepeats) {
  const std::vector<std::string> plain = {write("a", 0, 500), write("b", 1, 500)};
  const std::vector<std::string> zipped = {write("a.gz", 0, 500, Compression::gzip),
                                           write("b.gz", 1, 500, Compression::gzip)};
  const auto shuffled = [](const std::vector<std::string>& paths) {
    return texts(tfrecord_files(paths).shuffle(300, 4).repeat(3).prefetch(50));
  };
  EXPECT_EQ(shuffled(plain), shuffled(zipped));
}

TEST_F(TfrecordFiles, AnElementsRandomNumbersAreThoseOfItsRecord) {
  const auto draw = [](const Record&, Random& random) { return random.next64(); };
  const auto whole = collect(tfrecord_files({write("whole", 0, 40)}).map_with_random(1, draw));
  const auto split =
      collect(tfrecord_files({write("1", 0, 15), write("2", 0, 25, Compression::gzip)})
                  .map_with_random(1, draw));
  EXPECT_EQ(whole, split);
}

TEST_F(TfrecordFiles, DamageIsAnErrorAfterTheRecordsBeforeIt) {
  const std::string path = write("a", 0, 300);
  uint64_t offset = 0;
  for (int i = 0; i < 200; ++i) offset += payload(0, i).size() + 16;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset) + 12);
  file.put('#');  // in record 200's data
  file.close();
  for (const size_t threads : {1, 4}) {
    auto iterator =
        tfrecord_files({path}).with_options({.threads = threads, .chunk_size = 32}).iterate();
    for (int i = 0; i < 200; ++i) ASSERT_NE(iterator.next(), nullptr) << i;
    try {
      iterator.next();
      FAIL() << "the damage went unnoticed";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupted);
      EXPECT_EQ(error.path(), path);
      EXPECT_EQ(error.offset(), offset);
    }
  }
  EXPECT_EQ(collect(tfrecord_files({path}, {.crc = CrcCheck::never})).size(), 300u);
}

TEST_F(TfrecordFiles, ATornEndIsAnErrorAfterTheWholeRecords) {
  const std::string path = write("a", 0, 300);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  auto iterator = tfrecord_files({path}).iterate();
  for (int i = 0; i < 299; ++i) ASSERT_NE(iterator.next(), nullptr) << i;
  EXPECT_THROW(iterator.next(), Error);
}

TEST_F(TfrecordFiles, AMissingFileIsAnErrorAtItsPlace) {
  auto iterator = tfrecord_files({write("a", 0, 2), directory / "missing"}).iterate();
  EXPECT_NE(iterator.next(), nullptr);
  EXPECT_NE(iterator.next(), nullptr);
  try {
    iterator.next();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
    EXPECT_THAT(error.what(), HasSubstr("missing"));
  }
}

TEST_F(TfrecordFiles, APatternStandsForItsFilesInOrder) {
  write("train-2", 2, 30);
  write("train-10.zst", 1, 20, Compression::zstd);
  write("train-1", 0, 10);
  const std::string eval = write("eval", 3, 5);
  const auto records = tfrecord_files({directory / "train-*", eval});
  EXPECT_EQ(texts(records), expected({10, 20, 30, 5}));
  EXPECT_EQ(records.explain(), "tfrecord_files(files=4)\n");
  // A file that is added later is not read, but it changes the plan of a new dataset.
  write("train-0", 4, 1);
  EXPECT_EQ(texts(records), expected({10, 20, 30, 5}));
  auto saving = records.iterate();
  saving.next();
  auto more = tfrecord_files({directory / "train-*", eval}).iterate();
  EXPECT_EQ(error_of([&] { more.restore(saving.state()); }).kind(), ErrorKind::invalid_argument);
}

TEST_F(TfrecordFiles, APatternThatNothingMatchesIsAnErrorAtOnce) {
  const std::string pattern = directory / "train-*.tfrecords";
  const Error error = error_of([&] { tfrecord_files({write("a", 0, 1), pattern}); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.path(), pattern);
  EXPECT_THAT(error.reason(), HasSubstr("pattern"));
}

TEST_F(TfrecordFiles, AFileOfTheVeryNameIsNoPattern) {
  write("a1", 1, 7);
  const std::string path = write("a[1]*?", 0, 4);
  EXPECT_EQ(texts(tfrecord_files({path})), expected({4}));
}

TEST_F(TfrecordFiles, AreShuffledOverAllFiles) {
  const auto records =
      tfrecord_files({write("a", 0, 300), write("b", 1, 0), write("c", 2, 1), write("d", 3, 200)});
  const auto draw = [](const Record& record, Random& random) {
    return as_text(record.data) + "#" + std::to_string(random.next64());
  };
  auto in_order = collect(records.map_with_random(3, draw));
  const auto shuffled = records.map_with_random(3, draw).global_shuffle(7);
  auto once = collect(shuffled);
  EXPECT_NE(once, in_order);
  std::ranges::sort(once);
  std::ranges::sort(in_order);
  EXPECT_EQ(once, in_order);
  const auto batches = shuffled.repeat(2).batch(16).prefetch(2);
  expect_resumes_anywhere(batches, on_any_machine(batches), 3);
}

TEST_F(TfrecordFiles, AreShuffledOverAllFilesOnlyWherePlain) {
  const std::string plain = write("a", 0, 10);
  const auto refusal = [&](const std::string& path) {
    auto iterator = tfrecord_files({plain, path}).global_shuffle(7).iterate();
    const Error error = error_of([&] { iterator.next(); });
    EXPECT_EQ(error.path(), path);
    EXPECT_STREQ(error_of([&] { iterator.next(); }).what(), error.what());  // the error is sticky
    return error;
  };
  // Of local files, this is found out at once.
  const std::string gzip = write("a.gz", 0, 10, Compression::gzip);
  const Error zipped = error_of([&] { (void)tfrecord_files({plain, gzip}).global_shuffle(7); });
  EXPECT_EQ(zipped.path(), gzip);
  EXPECT_EQ(zipped.kind(), ErrorKind::unsupported);
  EXPECT_THAT(zipped.reason(), AllOf(HasSubstr("in any order"), HasSubstr("gzip")));
  EXPECT_THAT(zipped.hint(), HasSubstr("shuffle with a buffer"));
  const std::string fifo = directory / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(refusal(fifo).kind(), ErrorKind::unsupported);
  EXPECT_EQ(refusal(directory / "missing").kind(), ErrorKind::not_found);
  const std::string torn = write("torn", 0, 10);
  std::filesystem::resize_file(torn, std::filesystem::file_size(torn) - 1);
  EXPECT_EQ(refusal(torn).kind(), ErrorKind::truncated);
}

TEST_F(TfrecordFiles, AFolderBracesAndSetsOfShardsStandForFiles) {
  EXPECT_EQ(error_of([&] { tfrecord_files({directory.path()}); }).kind(), ErrorKind::not_found);
  write("t-00000-of-00002", 0, 10);
  write("t-00001-of-00002", 1, 20);
  write("other", 2, 5);
  const std::vector<std::string> shards = expected({10, 20});
  for (const std::string name :
       {"", "t@2", "t-{00000..00001}-of-00002", "**/t-*", "{t-00000-of-00002,t-00001-of-*}"}) {
    EXPECT_EQ(texts(tfrecord_files({directory / name})), shards) << name;
    EXPECT_EQ(texts(list_files({directory / name}).flat_map([](std::string path) {
                return tfrecord_files({std::move(path)});
              })),
              shards)
        << name;
  }
  EXPECT_THAT(error_of([&] { tfrecord_files({directory / "t@3"}); }).reason(),
              HasSubstr("3 of 3 files do not exist"));
}

TEST_F(TfrecordFiles, AFifoIsReadAsAStream) {
  const std::string source = write("a", 0, 100);
  const std::string fifo = directory / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::jthread writer([&] {
    std::ofstream(fifo, std::ios::binary) << std::ifstream(source, std::ios::binary).rdbuf();
  });
  EXPECT_EQ(texts(tfrecord_files({fifo})), expected({100}));
}

// Opening a FIFO and closing it again would end its writer with SIGPIPE.
TEST_F(TfrecordFiles, AFifoBehindAFileIsNotOpenedAhead) {
  const std::string file = write("a", 0, 100);
  const std::string source = write("b", 1, 100);
  const std::string fifo = directory / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::jthread writer([&] {
    std::ofstream(fifo, std::ios::binary) << std::ifstream(source, std::ios::binary).rdbuf();
  });
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  pause();  // the writer waits for a reader
  const auto records = tfrecord_files({file, fifo}).with_options({.threads = 4, .chunk_size = 1});
  EXPECT_EQ(records.cardinality(), kUnknownCardinality);
  Iterator<Record> iterator = records.iterate();
  std::vector<std::string> all;
  for (const Record* record = iterator.next(); record; record = iterator.next()) {
    all.push_back(as_text(record->data));
    if (all.size() == 1) pause();  // time to open the next file ahead
  }
  EXPECT_EQ(all, expected({100, 100}));
}

TEST_F(TfrecordFiles, WithAnIndexADamagedHeaderIsOneElementThatFails) {
  const std::string path = write("a", 0, 300);
  uint64_t offset = 0;
  std::ofstream index(path + ".idx");
  for (int i = 0; i < 300; ++i) {
    const uint64_t size = payload(0, i).size() + 16;
    index << offset << " " << size << "\n";
    if (i == 200) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(offset));
      file.put('#');
    }
    offset += size;
  }
  index.close();
  auto others = expected({300, 5});
  others.erase(others.begin() + 200);
  const auto records = tfrecord_files({path, write("b", 1, 5)});
  for (const size_t threads : {1, 4}) {
    const auto run = records.with_options({.threads = threads, .chunk_size = 32});
    EXPECT_EQ(texts(run.ignore_errors()), others);
    auto iterator = run.iterate();
    for (int i = 0; i < 200; ++i) ASSERT_NE(iterator.next(), nullptr) << i;
    const Error error = error_of([&] { iterator.next(); });
    EXPECT_EQ(error.kind(), ErrorKind::corrupted);
    EXPECT_EQ(error.path(), path);
    EXPECT_THAT(error.hint(), HasSubstr("index"));
  }
  EXPECT_EQ(collect(records.global_shuffle(3).ignore_errors()).size(), 304u);
  // Without the index, damage ends the file.
  std::filesystem::remove(path + ".idx");
  EXPECT_EQ(texts(records.ignore_errors().take(200)), expected({200}));
  EXPECT_THROW(collect(records.ignore_errors()), Error);
}

TEST_F(TfrecordFiles, AreOpenedAheadWithTheSameElementsAndErrors) {
  std::vector<std::string> paths;
  std::vector<int> counts;
  for (int file = 0; file < 60; ++file) {
    counts.push_back(file % 7 == 3 ? 0 : 20 + file);
    paths.push_back(write(std::to_string(file), file, counts.back(),
                          file % 10 == 9 ? Compression::gzip : Compression::none));
  }
  const auto on = [](const Dataset<Record>& records, size_t threads) {
    return records.with_options({.threads = threads, .chunk_size = 5});
  };
  for (const size_t threads : {1, 2, 8}) {
    EXPECT_EQ(texts(on(tfrecord_files(paths).repeat(2).take(10'000), threads)).size(),
              2 * expected(counts).size());
    EXPECT_EQ(texts(on(tfrecord_files(paths), threads)), expected(counts));
    // The iterator is destroyed while files are being opened.
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(collect(on(tfrecord_files(paths), threads).take(3)).size(), 3u);
  }
  std::filesystem::resize_file(paths[40], std::filesystem::file_size(paths[40]) - 1);
  std::filesystem::remove(paths[50]);
  std::vector<int> before(counts.begin(), counts.begin() + 41);
  --before.back();
  const auto all_before = expected(before);
  for (const size_t threads : {1, 2, 8}) {
    auto iterator = on(tfrecord_files(paths), threads).iterate();
    for (const std::string& text : all_before) ASSERT_EQ(as_text(iterator.next()->data), text);
    const Error error = error_of([&] { iterator.next(); });
    EXPECT_EQ(error.kind(), ErrorKind::truncated);
    EXPECT_EQ(error.path(), paths[40]);
  }
}

TEST_F(TfrecordFiles, WhatCannotBeMappedIsReadAsAStreamOrByRanges) {
  const std::string source = write("a", 0, 100);
  std::ifstream file(source, std::ios::binary);
  UnstableFileSystem files(std::string(std::istreambuf_iterator<char>(file), {}));
  const auto records = tfrecord_files(files, {"a"});
  EXPECT_EQ(texts(records), expected({100}));
  EXPECT_EQ(texts(records.shuffle(10, 1).repeat(2)).size(), 200u);
  EXPECT_EQ(texts(records.global_shuffle(1)), texts(tfrecord_files({source}).global_shuffle(1)));
  // A file system that can't read ranges, either.
  class StreamsOnly final : public SingleFileSystem {
   public:
    using SingleFileSystem::SingleFileSystem;
    std::unique_ptr<MappedFile> map(const std::string& path) override {
      throw Error({.kind = ErrorKind::unsupported, .path = path, .reason = "can't be mapped"});
    }
  };
  StreamsOnly streams("");
  const Error error = error_of([&] { collect(tfrecord_files(streams, {"a"}).global_shuffle(1)); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.reason(), AllOf(HasSubstr("only one file"), HasSubstr("in any order")));
  EXPECT_THAT(error.hint(), HasSubstr("shuffle with a buffer"));
}

// The opening of a file ends when that of 100 others has begun, as for a distant server.
TEST_F(TfrecordFiles, FilesAtADistanceAreOpenedManyAtATimeByFewThreads) {
  static constexpr size_t kFiles = 300;
  class Distant final : public SingleFileSystem {
   public:
    using SingleFileSystem::SingleFileSystem;
    bool can_map(const std::string&) override { return false; }
    bool reads_ahead(const std::string&) override { return true; }
    Opening<RandomAccessFile> start_random(const std::string& path) override {
      const std::lock_guard lock(mutex_);
      const size_t wanted = std::min(++begun_ + 100, kFiles - 1);  // the first one is not begun
      changed_.notify_all();
      return [this, path, wanted] {
        std::unique_lock open_lock(mutex_);
        most_ = std::max(most_, ++waiting_);
        changed_.wait(open_lock, [&] { return begun_ >= wanted; });
        --waiting_;
        return std::make_unique<UnstableFile>(content(), path);
      };
    }
    size_t most_waiting() const { return most_; }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    size_t begun_ = 0;
    size_t waiting_ = 0;
    size_t most_ = 0;
  };
  std::ifstream file(write("a", 0, 10), std::ios::binary);
  Distant files(std::string(std::istreambuf_iterator<char>(file), {}));
  std::vector<std::string> paths;
  for (size_t i = 0; i < kFiles; ++i) paths.push_back(std::to_string(i));
  EXPECT_EQ(texts(tfrecord_files(files, paths).global_shuffle(1)).size(), 10 * kFiles);
  EXPECT_LE(files.most_waiting(), 17u);  // 16, and the planning thread
}

TEST_F(TfrecordFiles, AFileSystemMayBelongToTheDatasetAndSayThatItCannotMap) {
  class Remote final : public SingleFileSystem {
   public:
    Remote(std::string content, bool& is_destroyed)
        : SingleFileSystem(std::move(content)), is_destroyed_(is_destroyed) {}
    ~Remote() override { is_destroyed_ = true; }
    bool can_map(const std::string&) override { return false; }
    std::unique_ptr<MappedFile> map(const std::string& path) override {
      ADD_FAILURE() << "mapped";
      return SingleFileSystem::map(path);
    }

   private:
    bool& is_destroyed_;
  };
  std::ifstream file(write("a", 0, 100), std::ios::binary);
  bool is_destroyed = false;
  {
    // No name is taken for a pattern or a folder.
    auto records = listed_tfrecord_files(
        std::make_shared<Remote>(std::string(std::istreambuf_iterator<char>(file), {}),
                                 is_destroyed),
        {"*", "b/"});
    const std::vector<std::string> once = expected({100});
    std::vector<std::string> twice = once;
    twice.insert(twice.end(), once.begin(), once.end());
    EXPECT_EQ(texts(records), twice);
    EXPECT_FALSE(is_destroyed);
  }
  EXPECT_TRUE(is_destroyed);
}

}  // namespace
}  // namespace recordpipe
