// Tests that interleave reads its inputs in parallel, and that this does not change its elements.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/from_generator.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/range.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_writer.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/resume.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

const std::vector<size_t> kThreads = {1, 2, 3, 4, 8, 16};

// Writes gzip files of different lengths, one of them empty.
class ParallelInterleave : public testing::Test {
 protected:
  void SetUp() override {
    for (const size_t records : {300, 1, 0, 3000, 64, 65, 1300, 20}) add_file(records);
  }

  void add_file(size_t records) {
    const size_t number = contents_.size();
    paths_.push_back(directory_ / (std::to_string(number) + ".tfrecords.gz"));
    RecordWriter writer(posix_file_system(), paths_.back(), {.compression = Compression::gzip});
    contents_.emplace_back();
    for (size_t i = 0; i < records; ++i) {
      contents_.back().push_back(std::to_string(number) + " " + std::to_string(i) +
                                 std::string(i * 37 % 300, 'x'));
      writer.write(as_bytes(contents_.back().back()));
    }
    writer.close();
  }

  Dataset<std::string> interleaved(size_t cycle_length, size_t block_length) const {
    const auto open = [](const std::string& path) { return tfrecord_files({path}); };
    return from_vector(paths_)
        .interleave(open, cycle_length, block_length)
        .map([](const Record& record) { return as_text(record.data); });
  }

  // Returns the same elements, computed naively.
  std::vector<std::string> taken_in_turns(size_t cycle_length, size_t block_length) const {
    std::vector<std::optional<std::pair<size_t, size_t>>> cycle(cycle_length);  // file, record
    std::vector<std::string> out;
    size_t next = 0;
    size_t open = 0;
    for (size_t turn = 0; open > 0 || next < contents_.size(); turn = (turn + 1) % cycle_length) {
      if (!cycle[turn]) {
        if (next == contents_.size()) continue;
        cycle[turn] = {next++, 0};
        ++open;
      }
      auto& [file, record] = *cycle[turn];
      size_t taken = 0;
      for (; taken < block_length && record < contents_[file].size(); ++taken) {
        out.push_back(contents_[file][record++]);
      }
      if (taken == block_length) continue;
      cycle[turn].reset();
      --open;
    }
    return out;
  }

  const TemporaryDirectory directory_;
  std::vector<std::string> paths_;
  std::vector<std::vector<std::string>> contents_;
};

TEST_F(ParallelInterleave, YieldsTheSameWithAnyNumberOfThreads) {
  for (const auto& [cycle_length, block_length] :
       {std::pair<size_t, size_t>{1, 1}, {2, 1}, {3, 100}, {8, 1}, {5, 7}, {100, 1000}}) {
    const auto expected = taken_in_turns(cycle_length, block_length);
    for (const size_t threads : kThreads) {
      for (const size_t chunk_size : {1, 64, 1000}) {
        const PipelineOptions options{.threads = threads, .chunk_size = chunk_size};
        const auto dataset = interleaved(cycle_length, block_length).with_options(options);
        ASSERT_EQ(collect(dataset), expected)
            << threads << " threads, cycle_length " << cycle_length << ", block_length "
            << block_length << ", chunks of " << chunk_size;
      }
    }
  }
}

TEST_F(ParallelInterleave, ResumesAnywhere) {
  for (const size_t threads : {1, 2, 5}) {
    const auto dataset = interleaved(3, 2).with_options({.threads = threads, .chunk_size = 16});
    expect_resumes_anywhere(dataset, on_any_machine(interleaved(3, 2)), 97);
  }
  const auto epochs = interleaved(4, 100).shuffle(50, 1).repeat(2);
  expect_resumes_anywhere(epochs.with_options({.threads = 4}), on_any_machine(epochs), 199);
}

TEST_F(ParallelInterleave, KeepsToTheMemoryLimit) {
  for (size_t file = 0; file < 8; ++file) add_file(800);
  const auto expected = taken_in_turns(8, 50);
  for (const uint64_t limit : {uint64_t{1} << 20, uint64_t{4} << 20}) {
    for (const size_t threads : {1, 2, 4}) {
      auto iterator =
          interleaved(8, 50).with_options({.threads = threads, .memory_limit = limit}).iterate();
      EXPECT_EQ(rest_of(iterator), expected);
      EXPECT_LE(iterator.memory().peak, limit + limit / 4);
    }
  }
}

TEST_F(ParallelInterleave, ErrorsComeAtTheirPlace) {
  const std::string whole = read_file(paths_[3]);
  write_file(paths_[3], whole.substr(0, whole.size() / 2));
  write_file(paths_[5], "this is no gzip file, and no TFRecord file either");
  paths_.insert(paths_.begin() + 5, directory_ / "missing");
  struct Outcome {
    std::vector<std::string> before;  // before the first error
    std::string error;
    std::vector<std::string> others;  // elements that ignore_errors keeps
    std::vector<SkippedElement> skipped;
    bool operator==(const Outcome&) const = default;
  };
  const auto outcome = [&](size_t threads) {
    Outcome result;
    const auto dataset = interleaved(4, 9).with_options({.threads = threads, .chunk_size = 10});
    auto iterator = dataset.iterate();
    try {
      while (const std::string* element = iterator.next()) result.before.push_back(*element);
    } catch (const Error& error) {
      result.error = error.what();
    }
    auto ignoring = dataset.ignore_errors().iterate();
    result.others = rest_of(ignoring);
    result.skipped = ignoring.skipped().first;
    return result;
  };
  const Outcome expected = outcome(1);
  EXPECT_EQ(expected.skipped.size(), 3u);
  EXPECT_FALSE(expected.before.empty());
  EXPECT_GT(expected.others.size(), expected.before.size());
  for (const size_t threads : kThreads) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(outcome(threads), expected) << threads << " threads";
  }
}

TEST_F(ParallelInterleave, StopsWhereverItStands) {
  for (const size_t threads : {2, 4}) {
    for (size_t taken = 0; taken < 60; taken += 7) {
      auto iterator = interleaved(8, 3).with_options({.threads = threads}).repeat().iterate();
      for (size_t i = 0; i < taken; ++i) ASSERT_NE(iterator.next(), nullptr);
    }
  }
}

// Read-ahead in an input that never has another element must be stopped; otherwise it never ends.
TEST(ParallelInterleaveStop, EndsAnEndlessSearchInAnInput) {
  const auto open = [](int input) {
    return range(INT64_MAX).filter([input](int64_t x) { return input == 0 || x < 64; });
  };
  for (const size_t threads : {1, 2, 3, 8}) {
    auto iterator = from_vector(numbers(4))
                        .interleave(open, 4)
                        .take(3)
                        .with_options({.threads = threads})
                        .iterate();
    EXPECT_EQ(rest_of(iterator), (std::vector<int64_t>{0, 0, 0}));
    // The 64 elements of each input are delivered before the search.
    auto blocks = from_vector(numbers(4))
                      .interleave(open, 4, 64)
                      .take(256)
                      .with_options({.threads = threads});
    EXPECT_EQ(collect(blocks).size(), 256u);
  }
}

// The consumer is faster than the inputs: it gets each chunk while the task that read it continues.
TEST(ParallelInterleaveSlowInputs, HandOverOneChunkAtATime) {
  constexpr int kElements = 700;
  const auto open = [](int input) {
    return from_generator([input] {
      return [input, next = 0]() mutable -> std::optional<int> {
        if (next % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
        return next < kElements ? std::optional(1000 * input + next++) : std::nullopt;
      };
    });
  };
  std::vector<int> expected;
  for (int i = 0; i < kElements; ++i) {
    for (int input = 0; input < 3; ++input) expected.push_back(1000 * input + i);
  }
  for (const size_t threads : {1, 2, 3, 4}) {
    const auto dataset = from_vector(numbers(3)).interleave(open, 3);
    EXPECT_EQ(collect(dataset.with_options({.threads = threads, .chunk_size = 16})), expected);
  }
}

// Nested inputs share the same few threads.
TEST(ParallelInterleaveNested, GetsThroughWithAnyNumberOfThreads) {
  const auto inner = [](int outer) {
    return from_vector(numbers(5))
        .interleave(
            [outer](int x) {
              return from_vector(numbers(40 + outer)).map([=](int y) {
                return (outer * 5 + x) * 100 + y;
              });
            },
            3, 2);
  };
  const auto dataset = from_vector(numbers(9)).interleave(inner, 4, 3);
  const auto expected = collect(dataset.with_options({.threads = 1}));
  EXPECT_EQ(expected.size(), 5u * (9 * 40 + 36));
  for (const size_t threads : kThreads) {
    EXPECT_EQ(collect(dataset.with_options({.threads = threads, .chunk_size = 4})), expected);
  }
}

// Detects concurrent calls: each call waits a limited time for `wanted` calls to be in progress.
class Meeting {
 public:
  explicit Meeting(size_t wanted) : wanted_(wanted) {}

  void wait() {
    std::unique_lock lock(mutex_);
    if (have_met_ || ++waits_ > 100) return;
    ++present_;
    if (present_ >= wanted_) have_met_ = true;
    changed_.notify_all();
    // The time is limited: if a worker reads the input that is needed next, no other thread may be
    // free.
    changed_.wait_for(lock, std::chrono::milliseconds(100), [&] { return have_met_; });
    --present_;
  }
  bool have_met() {
    const std::lock_guard lock(mutex_);
    return have_met_;
  }

 private:
  const size_t wanted_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t waits_ = 0;
  size_t present_ = 0;
  bool have_met_ = false;
};

// The operating system's files, but reads of streams wait for each other.
class MeetingFileSystem final : public FileSystem {
 public:
  explicit MeetingFileSystem(Meeting& meeting) : meeting_(meeting) {}

  std::unique_ptr<ByteSource> open_source(const std::string& path) override {
    return std::make_unique<Source>(base_.open_source(path), meeting_);
  }
  std::unique_ptr<RandomAccessFile> open_random(const std::string& path) override {
    return base_.open_random(path);
  }
  std::unique_ptr<MappedFile> map(const std::string& path) override { return base_.map(path); }
  std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) override {
    return base_.create(path, mode);
  }
  std::optional<FileStatus> status(const std::string& path) override { return base_.status(path); }
  std::string resolve_link(const std::string& path) override { return base_.resolve_link(path); }
  std::vector<std::string> list(const std::string& directory) override {
    return base_.list(directory);
  }
  void make_directories(const std::string& path) override { base_.make_directories(path); }
  void rename(const std::string& from, const std::string& to) override { base_.rename(from, to); }
  void remove(const std::string& path) override { base_.remove(path); }
  void remove_empty_directory(const std::string& path) override {
    base_.remove_empty_directory(path);
  }
  void sync_directory(const std::string& path) override { base_.sync_directory(path); }
  std::unique_ptr<FileLock> lock(const std::string& path) override { return base_.lock(path); }

 private:
  class Source final : public ByteSource {
   public:
    Source(std::unique_ptr<ByteSource> source, Meeting& meeting)
        : source_(std::move(source)), meeting_(meeting) {}
    size_t read(std::span<std::byte> out) override {
      meeting_.wait();
      return source_->read(out.first(std::min<size_t>(out.size(), 256)));
    }
    const std::string& path() const override { return source_->path(); }

   private:
    std::unique_ptr<ByteSource> source_;
    Meeting& meeting_;
  };

  FileSystem& base_ = posix_file_system();
  Meeting& meeting_;
};

TEST_F(ParallelInterleave, ReadsSeveralInputsAtTheSameTime) {
  for (const size_t threads : {2, 3, 4}) {
    for (const size_t block_length : {1, 10'000}) {
      Meeting meeting(std::max<size_t>(2, threads - 1));
      MeetingFileSystem files(meeting);
      const auto open = [&](const std::string& path) { return tfrecord_files(files, {path}); };
      const auto dataset =
          from_vector(paths_).interleave(open, 8, block_length).map([](const Record& record) {
            return as_text(record.data);
          });
      EXPECT_EQ(collect(dataset.with_options({.threads = threads})),
                taken_in_turns(8, block_length));
      EXPECT_TRUE(meeting.have_met()) << threads << " threads";
    }
  }
}

// Not only files, but inputs of any kind are read at the same time.
TEST(ParallelInterleaveGenerators, RunAtTheSameTime) {
  Meeting meeting(2);
  const auto open = [&](int input) {
    return from_generator([&, input] {
      return [&, input, next = 0]() mutable -> std::optional<int> {
        if (next == 100) return std::nullopt;
        meeting.wait();
        return 1000 * input + next++;
      };
    });
  };
  const auto dataset = from_vector(numbers(2)).interleave(open, 2, 50);
  EXPECT_EQ(collect(dataset.with_options({.threads = 3})).size(), 200u);
  EXPECT_TRUE(meeting.have_met());
}

}  // namespace
}  // namespace recordpipe
