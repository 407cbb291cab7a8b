// Tests dataset_info.json, and the comparison of its files with those that there are.
#include "recordpipe/tfds/info.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/tfds/splits.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"
#include "tests/tfds/made_set.h"

namespace recordpipe::tfds {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TfdsInfo : public ::testing::Test {
 protected:
  TemporaryDirectory folder;

  Info info_of(const std::string& json) {
    write_file(folder / "dataset_info.json", json);
    return read_info(folder.path());
  }
};

TEST_F(TfdsInfo, SplitsAndFiles) {
  const Info info = info_of(
      R"({"name": "n", "configName": "c", "version": "2.0.0", "fileFormat": "tfrecord", "splits": [
        {"name": "train", "shardLengths": ["3", 4], "numBytes": "70"},
        {"name": "test", "shardLengths": ["5"],
         "filepathTemplate": "{SPLIT}/{DATASET}.{FILEFORMAT}-{SHARD_INDEX}{{{NUM_SHARDS}}}"}]})");
  EXPECT_EQ(info.config, "c");
  EXPECT_EQ(info.find("train")->size(), 7u);
  EXPECT_EQ(info.find("train")->bytes, 70u);
  EXPECT_THAT(info.find("train")->files, ElementsAre(folder / "n-train.tfrecord-00000-of-00002",
                                                     folder / "n-train.tfrecord-00001-of-00002"));
  EXPECT_THAT(info.find("test")->files, ElementsAre(folder / "test/n.tfrecord-00000{00001}"));
  EXPECT_EQ(info.find("val"), nullptr);
}

TEST_F(TfdsInfo, Refused) {
  const auto kind = [&](const std::string& split) {
    const Error error = error_of([&] { info_of(R"({"name": "n", "splits": [)" + split + "]}"); });
    EXPECT_EQ(error.path(), folder / "dataset_info.json");
    return error.kind();
  };
  EXPECT_EQ(kind(R"({"name": "a", "shardLengths": ["-1"]})"), ErrorKind::corrupted);
  EXPECT_EQ(kind(R"({"name": "a", "shardLengths": ["9223372036854775807", "1"]})"),
            ErrorKind::corrupted);
  EXPECT_EQ(kind(R"({"name": "a", "shardLengths": "3"})"), ErrorKind::corrupted);
  EXPECT_EQ(kind(R"({"shardLengths": ["3"]})"), ErrorKind::corrupted);
  EXPECT_EQ(kind(R"({"name": "a"}, {"name": "a"})"), ErrorKind::corrupted);
  EXPECT_EQ(kind(R"({"name": "a", "numShards": "3"})"), ErrorKind::unsupported);
  EXPECT_EQ(kind(R"({"name": "a", "shardLengths": ["1"], "filepathTemplate": "{WHAT}"})"),
            ErrorKind::unsupported);
  for (const char* name : {"../x", "/x", "a/../../x", "a/.."}) {
    EXPECT_EQ(kind(std::string(R"({"name": "a", "shardLengths": ["1"], "filepathTemplate": ")") +
                   name + "\"}"),
              ErrorKind::corrupted)
        << name;
  }
  EXPECT_EQ(kind(R"({"name": "..", "shardLengths": ["1"], "filepathTemplate": "{SPLIT}/x"})"),
            ErrorKind::corrupted);
  EXPECT_EQ(error_of([&] { info_of("[]"); }).kind(), ErrorKind::corrupted);
  EXPECT_EQ(error_of([&] { read_info(folder / "none"); }).kind(), ErrorKind::not_found);
}

TEST_F(TfdsInfo, FilesThatAreMissingOrTooMany) {
  write_set(folder.path(), dict({"x", text()}), {{"train", {{"a"}, {"b", "c"}}}, {"val", {{"d"}}}});
  const Info info = read_info(folder.path());
  const auto check = [&](std::string_view split) { check_files(parse_split(split, info), info); };
  check("all");
  write_file(folder / "made-train.tfrecord-00002-of-00003", "");
  const Error extra = error_of([&] { check("train[:1]"); });
  EXPECT_EQ(extra.kind(), ErrorKind::corrupted);
  EXPECT_THAT(extra.path(), HasSubstr("00002-of-00003"));
  std::filesystem::remove(folder / "made-train.tfrecord-00002-of-00003");
  write_file(folder / "made-train.tfrecord-00000-of-00002.idx", "");  // something else
  check("all");
  std::filesystem::remove(folder / "made-train.tfrecord-00001-of-00002");
  check("train[:1shard]+val");
  const Error missing = error_of([&] { check("val+train"); });
  EXPECT_EQ(missing.kind(), ErrorKind::not_found);
  EXPECT_THAT(missing.path(), HasSubstr("made-train.tfrecord-00001-of-00002"));
  EXPECT_THAT(missing.reason(),
              HasSubstr("of the 2 files of \"train\" that are needed, 1 are missing"));
}

TEST_F(TfdsInfo, TheFolderOfAVersion) {
  write_set(folder / "set/1.0.0", dict({"x", text()}), {});
  EXPECT_EQ(find_folder(folder / "set/1.0.0"), folder / "set/1.0.0");
  EXPECT_EQ(find_folder(folder / "set"), folder / "set/1.0.0");
  EXPECT_EQ(find_folder(folder.path()), folder / "set/1.0.0");
  write_set(folder / "set/config/1.0.0", dict({"x", text()}), {});
  const Error several = error_of([&] { find_folder(folder / "set"); });
  EXPECT_EQ(several.kind(), ErrorKind::invalid_argument);
  EXPECT_THAT(several.reason(), HasSubstr("1.0.0, config/1.0.0"));
  EXPECT_EQ(error_of([&] { find_folder(folder / "none"); }).kind(), ErrorKind::not_found);
}

}  // namespace
}  // namespace recordpipe::tfds
