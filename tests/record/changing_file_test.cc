// Scans a file that another program overwrites or truncates at any point of the scan.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/record/scan/chunk_scan.h"
#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/parallel_record_scanner.h"
#include "tests/support/framed_records.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

// A file that is changed before the nth call of its member functions.
class ChangingFile final : public RandomAccessFile {
 public:
  ChangingFile(std::unique_ptr<RandomAccessFile> file, uint64_t change_at,
               std::function<void()> change)
      : file_(std::move(file)), change_at_(change_at), change_(std::move(change)) {}

  uint64_t size() const override { return file_->size(); }
  bool stable() const override { return file_->stable(); }
  bool damaged() const override {
    called();
    return file_->damaged();
  }
  void hint(uint64_t offset, uint64_t size, ReadHint hint) const override {
    called();
    file_->hint(offset, size, hint);
  }
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> scratch) const override {
    called();
    return file_->read(offset, size, scratch);
  }
  const std::string& path() const override { return file_->path(); }

  bool has_changed() const { return calls_ >= change_at_; }

 private:
  void called() const {
    if (++calls_ == change_at_) change_();
  }

  const std::unique_ptr<RandomAccessFile> file_;
  mutable std::atomic<uint64_t> calls_ = 0;
  const uint64_t change_at_;
  const std::function<void()> change_;
};

// Returns records of which some contain the header of a record that doesn't exist, so that a search
// for record starts goes back into them; some are longer than the initial read size.
std::string records_with_lies() {
  std::mt19937_64 random(7);
  std::vector<std::string> records;
  for (int i = 0; i < 12; ++i) {
    records.push_back(random_text(random, i % 4 == 3 ? 50'000 : random() % 9'000));
    const std::string lie = header_of(20 + random() % 50) + random_text(random, 120);
    if (i % 3 == 0) records.back() += lie + random_text(random, 100);
  }
  return framed(records);
}

constexpr uint64_t kChunk = 40'000;

class ChangingFileTest : public testing::Test {
 protected:
  // For each kind of change: calls `scan` with a file that changes before its first call, before
  // its second call, and so on, until a scan ends before the change.
  void for_every_change(const std::function<void(const RandomAccessFile&)>& scan) {
    const std::string garbage(content_.size(), 'g');
    const std::string other = framed(std::vector<std::string>(2000, "other")).substr(0, kChunk + 7);
    const std::vector<std::function<void()>> changes = {
        [&] { overwrite(0, garbage); },
        [&] { overwrite(kChunk + 3, other); },
        [&] { std::filesystem::resize_file(path_, content_.size() / 3); },
    };
    FileSystem& files = posix_file_system();
    for (const bool is_mapped : {true, false}) {
      for (size_t way = 0; way < changes.size(); ++way) {
        for (uint64_t n = 1;; ++n) {
          SCOPED_TRACE("change " + std::to_string(way) + " before call " + std::to_string(n) +
                       (is_mapped ? "" : ", not mapped"));
          write_file(path_, content_);
          std::unique_ptr<RandomAccessFile> opened = files.open_random(path_);
          if (is_mapped) opened = files.map(path_);
          const ChangingFile file(std::move(opened), n, changes[way]);
          scan(file);
          if (!file.has_changed() || HasFailure()) break;
        }
      }
    }
  }

  void overwrite(uint64_t at, const std::string& bytes) {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw std::runtime_error("can't change " + path_);
  }

  const std::string content_ = records_with_lies();
  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "changing.tfrecords";
};

uint64_t begin_of(const ParallelRecordScanner::Stretch& stretch) {
  return std::visit([](const auto& any) { return any.begin; }, stretch);
}
uint64_t end_of(const ParallelRecordScanner::Stretch& stretch) {
  return std::visit([](const auto& any) { return any.end; }, stretch);
}

TEST_F(ChangingFileTest, AChunkWithARecordsStartHasStretches) {
  for_every_change([&](const RandomAccessFile& file) {
    for (uint64_t begin = 0; begin < content_.size(); begin += kChunk) {
      const uint64_t end = std::min<uint64_t>(begin + kChunk, content_.size());
      const ChunkFacts facts = scan_chunk(file, begin, end, {});
      if (!facts.begin) continue;
      ASSERT_FALSE(facts.stretches.empty());
      uint64_t at = *facts.begin;
      for (const auto& stretch : facts.stretches) {
        ASSERT_EQ(begin_of(stretch), at);
        ASSERT_GT(end_of(stretch), at);
        at = end_of(stretch);
      }
      ASSERT_EQ(facts.end, at);
    }
  });
}

TEST_F(ChangingFileTest, AParallelScanGoesThroughAllOfIt) {
  for (const size_t threads : {1, 2}) {
    for_every_change([&](const RandomAccessFile& file) {
      ParallelRecordScanner scanner(file, {.threads = threads, .chunk_size = kChunk});
      uint64_t at = 0;
      while (const auto stretch = scanner.next()) {
        ASSERT_EQ(begin_of(*stretch), at);
        ASSERT_GT(end_of(*stretch), at);
        at = end_of(*stretch);
        ASSERT_EQ(scanner.offset(), at);
      }
      EXPECT_EQ(at, content_.size());
    });
  }
}

// The scan is stopped after three stretches; next() must throw again on every later call.
TEST_F(ChangingFileTest, AScanThatFailedFailsTheSameAgain) {
  for_every_change([&](const RandomAccessFile& changing) {
    std::stop_source source;
    ParallelRecordScanner scanner(changing,
                                  {.threads = 2, .chunk_size = kChunk, .stop = source.get_token()});
    uint64_t stretches = 0;
    try {
      while (scanner.next()) {
        if (++stretches == 3) source.request_stop();
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::cancelled);
      EXPECT_THROW(scanner.next(), Error);
      EXPECT_THROW(scanner.next(), Error);
    }
  });
}

}  // namespace
}  // namespace recordpipe
