// Tests that the memory that elements of interleave and flat_map point into lives as long as the
// iterator, although the inputs are closed, and that nothing else is kept.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <malloc.h>

#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_writer.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/resume.h"
#include "tests/support/bytes.h"
#include "tests/support/single_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

constexpr int kFiles = 6;
constexpr int kRecords = 40;

// A view without an owner.
struct View {
  std::string_view text;
  std::string_view path;
};

class InputLifetime : public testing::Test {
 protected:
  void SetUp() override {
    for (int file = 0; file < kFiles; ++file) {
      plain_.push_back(write(file, ".tfrecords", Compression::none, 200));
      compressed_.push_back(write(file, ".tfrecords.gz", Compression::gzip, 200));
    }
  }

  std::string write(int file, const std::string& suffix, Compression compression, size_t size) {
    const std::string path = directory_ / (std::to_string(file) + suffix);
    RecordWriter writer(posix_file_system(), path, {.compression = compression});
    for (int i = 0; i < kRecords; ++i) writer.write(as_bytes(text(file, i, size)));
    writer.close();
    return path;
  }

  static std::string text(int file, int record, size_t size = 200) {
    std::string text = std::to_string(file) + "/" + std::to_string(record) + " ";
    text.resize(size, 'x');
    return text;
  }

  // Runs flat_map over the files to its end and keeps all elements. Only then calls
  // visit(element, file, number) for each element, which contains `records` records.
  template <class Open, class Visit>
  void expect_views_stay(const Open& open, int records, const Visit& visit) const {
    for (const size_t threads : {1, 3}) {
      auto iterator =
          from_vector(plain_).flat_map(open).with_options({.threads = threads}).iterate();
      const auto elements = rest_of(iterator);
      ASSERT_EQ(elements.size(), static_cast<size_t>(kFiles * kRecords / records));
      for (int i = 0; i < static_cast<int>(elements.size()); ++i) {
        visit(elements[static_cast<size_t>(i)], i * records / kRecords, i * records % kRecords);
      }
    }
  }

  void expect_record(const Record& record, int file, int number) const {
    ASSERT_EQ(as_text(record.data), text(file, number));
    ASSERT_EQ(record.path, plain_[static_cast<size_t>(file)]);
  }

  size_t mapped_files() const {
    std::ifstream maps("/proc/self/maps");
    size_t count = 0;
    for (std::string line; std::getline(maps, line);) {
      if (line.find(directory_.path()) != std::string::npos) ++count;
    }
    return count;
  }

  const TemporaryDirectory directory_;
  std::vector<std::string> plain_;
  std::vector<std::string> compressed_;
};

TEST_F(InputLifetime, OfNumberedRecords) {
  expect_views_stay([](const std::string& path) { return tfrecord_files({path}).enumerate(); }, 1,
                    [&](const std::pair<int64_t, Record>& element, int file, int number) {
                      ASSERT_EQ(element.first, number);
                      expect_record(element.second, file, number);
                    });
}

TEST_F(InputLifetime, OfBatchesOfBatches) {
  expect_views_stay(
      [](const std::string& path) { return tfrecord_files({path}).batch(2).batch(2); }, 4,
      [&](const std::vector<std::vector<Record>>& batches, int file, int number) {
        for (int i = 0; i < 4; ++i) {
          expect_record(batches[static_cast<size_t>(i / 2)][static_cast<size_t>(i % 2)], file,
                        number + i);
        }
      });
}

TEST_F(InputLifetime, OfStructsThatHoldViews) {
  const auto view = [](const Record& record) {
    return View{{reinterpret_cast<const char*>(record.data.data()), record.data.size()},
                record.path};
  };
  const auto expect_view = [&](const View& element, int file, int number) {
    ASSERT_EQ(element.text, text(file, number));
    ASSERT_EQ(element.path, plain_[static_cast<size_t>(file)]);
  };
  expect_views_stay([&](const std::string& path) { return tfrecord_files({path}).map(view); }, 1,
                    expect_view);
  expect_views_stay(
      [&](const std::string& path) { return tfrecord_files({path}).map(view).cache(); }, 1,
      expect_view);
}

TEST_F(InputLifetime, OfElementsInACacheBehindTheInputs) {
  const auto view = [](const Record& record) {
    return View{{reinterpret_cast<const char*>(record.data.data()), record.data.size()}, {}};
  };
  const auto cached =
      from_vector(plain_)
          .flat_map([&](const std::string& path) { return tfrecord_files({path}).map(view); })
          .cache();
  EXPECT_EQ(collect(cached.take(0)).size(), 0u);
  { (void)collect(cached); }
  auto iterator = cached.iterate();
  const auto elements = rest_of(iterator);
  ASSERT_EQ(elements.size(), static_cast<size_t>(kFiles * kRecords));
  EXPECT_EQ(elements.front().text, text(0, 0));
  EXPECT_EQ(elements.back().text, text(kFiles - 1, kRecords - 1));
}

TEST_F(InputLifetime, OfElementsFromACacheFile) {
  const auto open = [](const std::string& path) {
    return tfrecord_files({path}).cache(path + ".cache").enumerate();
  };
  (void)collect(from_vector(plain_).flat_map(open));
  auto iterator = from_vector(plain_).flat_map(open).repeat(50).iterate();
  const auto elements = rest_of(iterator);
  ASSERT_EQ(elements.size(), static_cast<size_t>(50 * kFiles * kRecords));
  EXPECT_EQ(as_text(elements.front().second.data), text(0, 0));
  EXPECT_EQ(as_text(elements.back().second.data), text(kFiles - 1, kRecords - 1));
  EXPECT_LE(mapped_files(), 2u * kFiles);
}

TEST_F(InputLifetime, OfMappedRecordsTakesNoMemory) {
  constexpr size_t kSize = 100'000;
  for (int file = 0; file < kFiles; ++file) {
    write(file, ".tfrecords", Compression::none, kSize);
  }
  const auto open = [](const std::string& path) { return tfrecord_files({path}); };
  auto iterator = from_vector(plain_)
                      .interleave(open, 3)
                      .shuffle(kFiles * kRecords, 1)
                      .with_options({.threads = 2, .memory_limit = 4'000'000})
                      .iterate();
  EXPECT_EQ(rest_of(iterator).size(), static_cast<size_t>(kFiles * kRecords));
  EXPECT_LT(iterator.memory().peak, 1'000'000u);
}

TEST_F(InputLifetime, KeepsAFileOnceThatIsOpenedAgainAndAgain) {
  const auto open = [](const std::string& path) { return tfrecord_files({path}); };
  auto iterator = from_vector(plain_).interleave(open, 4).repeat(100).iterate();
  for (int i = 0; iterator.next(); ++i) {
    if (i % 100 == 0) {
      ASSERT_LE(mapped_files(), 2u * kFiles + 4);
    }
  }
  EXPECT_EQ(mapped_files(), static_cast<size_t>(kFiles));
}

// Counts its open files, which have no version.
class CountingFileSystem final : public SingleFileSystem {
 public:
  using SingleFileSystem::SingleFileSystem;
  std::unique_ptr<MappedFile> map(const std::string& path) override {
    return std::make_unique<Mapping>(SingleFileSystem::map(path), open_);
  }
  int open() const { return open_; }

 private:
  class Mapping final : public MappedFile {
   public:
    Mapping(std::unique_ptr<MappedFile> file, std::atomic<int>& open)
        : file_(std::move(file)), open_(open) {
      ++open_;
    }
    ~Mapping() override { --open_; }
    std::span<const std::byte> bytes() const override { return file_->bytes(); }
    const std::string& path() const override { return file_->path(); }

   private:
    const std::unique_ptr<MappedFile> file_;
    std::atomic<int>& open_;
  };

  std::atomic<int> open_ = 0;
};

TEST_F(InputLifetime, KeepsAFileOnceThatDoesNotTellItsVersion) {
  const auto content = read_all(*posix_file_system().open_source(plain_[0]), 1 << 20);
  CountingFileSystem files(as_text(content));
  const auto open = [&](const std::string& path) { return tfrecord_files(files, {path}); };
  auto iterator = from_vector(plain_).interleave(open, 4).repeat(20).iterate();
  const auto elements = rest_of(iterator);
  EXPECT_EQ(elements.size(), static_cast<size_t>(20 * kFiles * kRecords));
  EXPECT_EQ(as_text(elements.front().data), text(0, 0));
  EXPECT_EQ(files.open(), kFiles);
}

// For a file that must stay, only the mapping is kept, not the offsets of its records.
TEST_F(InputLifetime, KeepsNoOffsetsOfClosedInputs) {
  constexpr int kMany = 5000;
  const std::string many = directory_ / "many.tfrecords";
  RecordWriter writer(posix_file_system(), many);
  for (int i = 0; i < kMany; ++i) writer.write({});
  writer.close();
  std::vector<std::string> paths;
  for (int i = 0; i < 20; ++i) {
    paths.push_back(many + std::to_string(i));
    std::filesystem::copy_file(many, paths.back());
  }
  const auto open = [](const std::string& path) { return tfrecord_files({path}); };
  for (const size_t threads : {1, 3}) {
    auto iterator = from_vector(paths)
                        .interleave(open, 2)
                        .with_options({.threads = threads, .memory_limit = 600'000})
                        .iterate();
    size_t count = 0;
    while (iterator.next()) ++count;
    EXPECT_EQ(count, paths.size() * kMany);
    EXPECT_LT(iterator.memory().bytes, 5 * kMany * sizeof(uint64_t));
  }
}

TEST_F(InputLifetime, KeepsNothingOfStreams) {
#ifdef RECORDPIPE_SANITIZED
  GTEST_SKIP() << "sanitizers have a heap of their own";
#endif
  const auto open = [](const std::string& path) { return tfrecord_files({path}); };
  auto iterator = from_vector(compressed_).interleave(open, 4).repeat(900).iterate();
  // The least of 20 passes: how many inputs are open at the end of one depends on the threads, also
  // under load, where it differs by a few: far less than what so many closed ones would keep.
  const auto heap_after = [&](int passes) {
    size_t least = SIZE_MAX;
    for (int pass = 0; pass < passes; ++pass) {
      for (int i = 0; i < kFiles * kRecords; ++i) (void)iterator.next();
      const auto info = ::mallinfo2();
      if (pass >= passes - 20) least = std::min(least, info.uordblks + info.hblkhd);
    }
    return least;
  };
  const size_t before = heap_after(100);
  const size_t after = heap_after(800);
  EXPECT_LT(after, before + 400'000) << "more than 80 bytes for each input that was closed";
}

}  // namespace
}  // namespace recordpipe
