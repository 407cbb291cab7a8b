// Tests jobs that make a file from each of many: what is kept of earlier runs, of the same job and
// of others.
#include "dataset/toolkit/jobs/shard_job.h"

#include <filesystem>
#include <latch>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

class ShardJobTest : public testing::Test {
 protected:
  ShardJobTest() {
    for (const char* const name : {"a", "b", "c"}) {
      inputs_.push_back(folder_ / name);
      write_file(inputs_.back(), name);
    }
    out_ = folder_ / "out";
  }

  // Writes the operation's name, and fails or is interrupted after that for one input.
  bool run(const std::string& operation, bool resume, const std::string& failing = "",
           ErrorKind kind = ErrorKind::io) {
    const ShardJob job = {.inputs = inputs_,
                          .outputs = shard_names(inputs_, Compression::none),
                          .folder = out_,
                          .operation = operation,
                          .resume = resume,
                          .threads = 1};
    made_ = 0;
    return run_shard_job(
        {.files = posix_file_system()}, job,
        [&](size_t number, const std::string& output, size_t) -> ShardCounts {
          ++made_;
          write_file(output, operation + job.outputs[number]);
          if (job.outputs[number] == failing) throw Error({.kind = kind, .reason = "told to"});
          return {.records = 1};
        },
        [](const ShardOutcome&) {});
  }

  std::vector<std::string> contents() const {
    std::vector<std::string> all;
    for (const char* const name : {"a", "b", "c"}) {
      all.push_back(read_file(out_ + "/" + name));
    }
    return all;
  }

  TemporaryDirectory folder_;
  std::vector<std::string> inputs_;
  std::string out_;
  int made_ = 0;
};

TEST_F(ShardJobTest, ResumingKeepsWhatTheSameJobHasMade) {
  EXPECT_TRUE(run("one", false));
  EXPECT_EQ(made_, 3);
  EXPECT_TRUE(run("one", true));
  EXPECT_EQ(made_, 0);
  EXPECT_TRUE(run("one", false));
  EXPECT_EQ(made_, 3);
}

// The output of the other job has the same size, and its record was not written any more.
TEST_F(ShardJobTest, AnOutputThatAnotherJobHasReplacedIsMadeAgain) {
  for (const ErrorKind kind : {ErrorKind::io, ErrorKind::cancelled}) {
    EXPECT_TRUE(run("one", false));
    if (kind == ErrorKind::cancelled) {
      EXPECT_THROW(run("two", false, "a", kind), Error);
    } else {
      EXPECT_FALSE(run("two", false, "a", kind));
    }
    EXPECT_EQ(contents(), (std::vector<std::string>{"twoa", "oneb", "onec"}));
    EXPECT_TRUE(run("one", true));
    EXPECT_EQ(contents(), (std::vector<std::string>{"onea", "oneb", "onec"}));
    EXPECT_EQ(made_, 1);
    EXPECT_EQ(read_manifest(posix_file_system(), out_ + "/manifest.jsonl").size(), 3U);
  }
  EXPECT_FALSE(std::filesystem::exists(out_ + "/.shards"));
}

TEST_F(ShardJobTest, RecordsOfAnInterruptedJobAreNotThoseOfAnother) {
  EXPECT_FALSE(run("one", false, "c"));
  EXPECT_THROW(run("two", true, "b", ErrorKind::cancelled), Error);
  EXPECT_EQ(contents(), (std::vector<std::string>{"twoa", "twob", "onec"}));
  EXPECT_TRUE(run("one", true));
  EXPECT_EQ(made_, 3);
  EXPECT_EQ(contents(), (std::vector<std::string>{"onea", "oneb", "onec"}));
}

TEST_F(ShardJobTest, OutputsThatAreThereWhenAnotherFailsAreReported) {
  const ShardJob job = {.inputs = inputs_,
                        .outputs = shard_names(inputs_, Compression::none),
                        .folder = out_,
                        .operation = "one",
                        .threads = 3};
  std::latch others(2);
  std::vector<std::string> reported;
  EXPECT_FALSE(run_shard_job(
      {.files = posix_file_system()}, job,
      [&](size_t number, const std::string& output, size_t) -> ShardCounts {
        if (number == 0) {
          others.wait();
          throw Error({.kind = ErrorKind::io, .reason = "told to"});
        }
        write_file(output, "made");
        others.count_down();
        return {.records = 1};
      },
      [&](const ShardOutcome& outcome) {
        reported.push_back(outcome.error ? "failed" : outcome.record.output);
      }));
  EXPECT_EQ(reported, (std::vector<std::string>{"failed", "b", "c"}));
}

TEST_F(ShardJobTest, InputsMayHaveAnyFolder) {
  const std::string folder = folder_ / "in\xff\xfe";
  std::filesystem::create_directory(folder);
  for (std::string& path : inputs_) {
    const std::string other = folder + path.substr(path.rfind('/'));
    std::filesystem::rename(path, other);
    path = other;
  }
  EXPECT_TRUE(run("one", false));
  EXPECT_TRUE(run("one", true));
  EXPECT_EQ(made_, 0);
}

TEST(ShardNames, NamesThatTheJobOrItsManifestCannotHaveAreRefused) {
  EXPECT_EQ(shard_names({"in/a.gz", "in/.b"}, Compression::zstd),
            (std::vector<std::string>{"a.zst", ".b.zst"}));
  EXPECT_EQ(
      shard_names({"in/a.tfrecord.gz", "in/b.tfrecords", "in/c-00000-of-00002"}, {}, {}, ".arrow"),
      (std::vector<std::string>{"a.arrow", "b.arrow", "c-00000-of-00002.arrow"}));
  EXPECT_THROW(shard_names({"in/a.gz", "in/a.tfrecord"}, {}, {}, ".arrow"), Error);
  for (const char* const name : {"in/manifest.jsonl", "in/manifest.jsonl.gz", "in/.shards",
                                 "in/.a.partial", "in/\xff", "in/", "in/.."}) {
    EXPECT_THROW(shard_names({name}, Compression::none), Error) << name;
  }
}

TEST(ShardNames, ArePlacesBelowFoldersWithoutDots) {
  const auto names = [](const std::vector<std::string>& inputs, const std::string& folder) {
    return shard_names(inputs, {}, {folder});
  };
  EXPECT_EQ(names({"in/b/c", "in/../e/a", "in/b/../d", "in//f", "in/./g", "out/../in/h"}, "in"),
            (std::vector<std::string>{"b/c", "a", "d", "f", "g", "h"}));
  EXPECT_EQ(names({"./a", "b/c", "../d", "/e/f"}, "."),
            (std::vector<std::string>{"a", "b/c", "d", "f"}));
  EXPECT_EQ(names({"../in/b/c", "../e/a", "../../d"}, "../in/"),
            (std::vector<std::string>{"b/c", "a", "d"}));
  EXPECT_EQ(names({"s3://bucket/in/b/c", "s3://bucket/in/../../a"}, "s3://bucket/in"),
            (std::vector<std::string>{"b/c", "a"}));
  EXPECT_THROW(names({"in/b", "in/x/../b"}, "in"), Error);
  EXPECT_THROW(names({"in/b/.."}, "in"), Error);
}

TEST(ShardNames, OfOtherFormatsAreRefused) {
  for (const char* const name : {"in/a.jsonl", "in/a.csv.gz", "in/A.Parquet", "in/a.tar"}) {
    for (const Compression compression : {Compression::none, Compression::gzip}) {
      const Error error = error_of([&] { shard_names({name}, compression); });
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(error.reason().find("TFRecords would be written"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace recordpipe
