// Tests which files the names of inputs stand for.
#include "recordpipe/record/input_files.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "tests/support/empty_files.h"
#include "tests/support/expect_error.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/single_file_system.h"

namespace recordpipe {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class InputFiles : public EmptyFiles {
 protected:
  std::vector<std::string> in_folder(const std::vector<std::string>& names) const {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(directory / name);
    return paths;
  }
  // Returns the files, without the folder's path.
  std::vector<std::string> found(const std::vector<std::string>& names,
                                 const InputFilesOptions& options = {}) {
    return without_folder(find_input_files(posix_file_system(), in_folder(names), options));
  }
  Error failure(const std::string& name, const InputFilesOptions& options = {}) {
    return error_of([&] { found({name}, options); });
  }
  uint64_t calls(const std::string& name, const InputFilesOptions& options = {}) {
    FaultyFileSystem files(posix_file_system());
    EXPECT_FALSE(find_input_files(files, {directory / name}, options).empty());
    return files.calls();
  }
};

TEST(RecordFileName, ContainsTfrecOrIsAShard) {
  for (const char* name :
       {"a.tfrecord", "a.tfrecords", "a.tfrec", "A.TFRecord", "a.tfrecord.gz", "tfrecords-17",
        "a.tfrecord-00000-of-00010", "a.tfrecords.gz-00000-of-00010", "train-00000-of-01024",
        "train-00000-of-01024.gz", "a-99999-of-100001", "a-100000-of-100001",
        "train.zst-00000-of-01024", "a.tfrecord.idx.gz"}) {
    EXPECT_TRUE(is_record_file_name(name)) << name;
  }
  for (const char* name :
       {"a.csv", ".a.tfrecord", "_a.tfrecord", "a.tfrecord.idx", "a.tfrecord.steps",
        "a.tfrecord.index", "a.tfrecord.md5", "a.tfrecord.SHA256", "a.tfrecords.json",
        "train-00000-of-01024.idx", "train-0-of-8", "00000-of-00001", "12345",
        "model.data-00000-of-00001", "a.array_record-00000-of-00001",
        "train-00000-of-01024.parquet", "", "-00000-of-0000"}) {
    EXPECT_FALSE(is_record_file_name(name)) << name;
  }
}

TEST_F(InputFiles, AFolderStandsForItsRecordFiles) {
  make({"d/b.tfrecord", "d/a.tfrecord.gz", "d/a.tfrecord.gz.idx", "d/x.steps", "d/info.json",
        "d/.c.tfrecord", "d/_d.tfrecord", "d/below/e.tfrecord", "d/train-00001-of-00002",
        "d/f.tfrecord/inner"});
  const auto files = ElementsAre("d/a.tfrecord.gz", "d/b.tfrecord", "d/train-00001-of-00002");
  EXPECT_THAT(found({"d"}), files);
  EXPECT_THAT(found({"d/"}), files);
  EXPECT_THAT(found({"d", "d/x.steps"}).back(), "d/x.steps");
  EXPECT_THAT(found({"d"}, {.keep_folders = true}), ElementsAre("d"));
}

TEST_F(InputFiles, AFolderWithoutRecordFilesIsAnError) {
  make({"d/a.csv", "d/below/e.tfrecord"});
  const Error error = failure("d");
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.path(), directory / "d");
  EXPECT_THAT(error.reason(), HasSubstr("no record files"));
  EXPECT_THAT(error.hint(), HasSubstr("recursive"));
  EXPECT_THAT(found({"d"}, {.recursive = true}), ElementsAre("d/below/e.tfrecord"));
  make({"e/a.csv"});
  EXPECT_THAT(failure("e").hint(), HasSubstr("tfrec"));
  EXPECT_THAT(failure("e", {.recursive = true}).reason(), HasSubstr("below"));
  EXPECT_THAT(failure("e", {.recursive = true}).hint(), HasSubstr("links"));
}

TEST_F(InputFiles, FoldersBelowAreReadByChoice) {
  make({"d/z.tfrecord", "d/a/x.tfrecord", "d/a/b/y.tfrecord", "d/.h/x.tfrecord",
        "d/_temporary/x.tfrecord", "other/o.tfrecord"});
  std::filesystem::create_directory_symlink("..", directory / "d/a/up");
  std::filesystem::create_directory_symlink("../other", directory / "d/link");
  std::filesystem::create_symlink("../other/o.tfrecord", directory / "d/linked.tfrecord");
  EXPECT_THAT(found({"d"}, {.recursive = true}), ElementsAre("d/a/b/y.tfrecord", "d/a/x.tfrecord",
                                                             "d/linked.tfrecord", "d/z.tfrecord"));
  EXPECT_THAT(found({"d/**/"}), ElementsAre("d/_temporary/x.tfrecord", "d/a/b/y.tfrecord",
                                            "d/a/x.tfrecord", "d/linked.tfrecord", "d/z.tfrecord"));
  EXPECT_EQ(found({"d/**/"}, {.recursive = true}), found({"d/**/"}));
  // A link that is named is followed.
  EXPECT_THAT(found({"d/link"}), ElementsAre("d/link/o.tfrecord"));
  EXPECT_THAT(found({"d/*/"}, {.recursive = true}).back(), "d/link/o.tfrecord");
}

TEST_F(InputFiles, PatternsAreSortedAndLeaveIndexesOut) {
  make({"b", "a", "a.idx", "a.steps", "c.idx", "d/e", "f.tfrecord"});
  EXPECT_THAT(found({"?", "[a]"}), ElementsAre("a", "b", "a"));
  EXPECT_THAT(found({"*"}), ElementsAre("a", "b", "c.idx", "f.tfrecord"));
  EXPECT_THAT(found({"**/e"}), ElementsAre("d/e"));
  const Error error = failure("x*");
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.path(), directory / "x*");
  EXPECT_THAT(error.reason(), HasSubstr("no file matches"));
  EXPECT_THAT(failure("d/*/").reason(), HasSubstr("no file matches"));
  EXPECT_THAT(failure("*/").reason(), HasSubstr("no record files"));
}

// As a shell or glob.glob names them.
TEST_F(InputFiles, IndexesOfOtherNamesAreLeftOut) {
  make({"b", "b.idx", "a", "a.idx", "a.steps", "c.idx"});
  EXPECT_THAT(found({"a", "a.idx", "a.steps", "b", "b.idx", "c.idx"}),
              ElementsAre("a", "b", "c.idx"));
  EXPECT_THAT(found({"a.idx"}), ElementsAre("a.idx"));
}

TEST_F(InputFiles, BracesKeepTheirOrder) {
  make({"b1", "b2", "a1", "a2", "b1.idx", "d/x.tfrecord"});
  EXPECT_THAT(found({"{b,a}{2..1}"}), ElementsAre("b2", "b1", "a2", "a1"));
  EXPECT_THAT(found({"{b,a}*"}), ElementsAre("b1", "b2", "a1", "a2"));
  EXPECT_THAT(found({"{a1,d}"}), ElementsAre("a1", "d/x.tfrecord"));
  EXPECT_THAT(found({"{a1,b2,a2,b1,d}"}), ElementsAre("a1", "b2", "a2", "b1", "d/x.tfrecord"));
}

TEST_F(InputFiles, AllFilesOfBracesMustExist) {
  make({"s-0000", "s-0002", "t-1"});
  const Error error = failure("s-{0000..1499}");
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_EQ(error.path(), directory / "s-{0000..1499}");
  EXPECT_THAT(error.reason(), AllOf(HasSubstr("1,498 of 1,500 files do not exist"),
                                    HasSubstr("first is " + directory / "s-0001")));
  EXPECT_THAT(failure("{t,u}-1").reason(), HasSubstr("1 of 2 files do not exist"));
  EXPECT_THAT(failure("{t,u}-*").reason(), HasSubstr("u-*"));
  EXPECT_THAT(failure("{missing,t}/{1,2,3,4,5}").reason(), HasSubstr("10 of 10"));
}

TEST_F(InputFiles, SetsOfShards) {
  std::vector<std::string> shards;
  for (int i = 0; i < 12; ++i) {
    const std::string number = (i < 10 ? "0000" : "000") + std::to_string(i);
    shards.push_back("train.tfrecord-" + number + "-of-00012");
  }
  make(shards);
  EXPECT_EQ(found({"train.tfrecord@12"}), shards);
  make({"a-00000-of-00001.gz", "b-00000-of-00002", "b-00001-of-00002"});
  EXPECT_THAT(found({"a@1.gz", "{b,b}@2"}),
              ElementsAre("a-00000-of-00001.gz", "b-00000-of-00002", "b-00001-of-00002",
                          "b-00000-of-00002", "b-00001-of-00002"));
  EXPECT_THAT(found({"?@2"}), ElementsAre("b-00000-of-00002", "b-00001-of-00002"));
  EXPECT_THAT(failure("train.tfrecord@13").reason(),
              AllOf(HasSubstr("13 of 13"), HasSubstr("train.tfrecord-00000-of-00013")));
  posix_file_system().remove(directory / shards[7]);
  EXPECT_THAT(failure("train.tfrecord@12").reason(),
              AllOf(HasSubstr("1 of 12"), HasSubstr(shards[7])));
}

TEST_F(InputFiles, OtherNamesWithAtAreFiles) {
  for (const std::string name : {"a@", "@3", "a@0", "a@b", "a@3.b.c", "a@-1", "x@3/y"}) {
    EXPECT_THAT(found({name}), ElementsAre(name));
  }
}

TEST_F(InputFiles, AFileThatExistsIsNoPattern) {
  make({"a[1]", "a1", "{a1,b}", "a@2", "**", "d{1,2}/x.tfrecord"});
  for (const std::string name : {"a[1]", "{a1,b}", "a@2", "**"}) {
    EXPECT_THAT(found({name}), ElementsAre(name));
  }
  EXPECT_THAT(found({"d{1,2}"}), ElementsAre("d{1,2}/x.tfrecord"));
}

TEST_F(InputFiles, AMissingPathIsReportedByItsReader) {
  EXPECT_THAT(found({"missing", "a{b", "{a}", "a}", "a,b"}),
              ElementsAre("missing", "a{b", "{a}", "a}", "a,b"));
  EXPECT_THAT(find_input_files(posix_file_system(), {}), IsEmpty());
  EXPECT_THAT(find_input_files(posix_file_system(), {""}), ElementsAre(""));
}

TEST_F(InputFiles, LiteralNamesAreNeverPatterns) {
  make({"a1", "d/x.tfrecord"});
  EXPECT_THAT(found({"a*", "{a1,a1}", "a@2", "d"}, {.literal = true}),
              ElementsAre("a*", "{a1,a1}", "a@2", "d/x.tfrecord"));
}

TEST_F(InputFiles, NamesMayHaveAnyBytes) {
  make({"d/a\nb.tfrecord", "d/\xFF.tfrecord", "d/ {1,2}.tfrecord"});
  EXPECT_THAT(found({"d"}), ElementsAre("d/ {1,2}.tfrecord", "d/a\nb.tfrecord", "d/\xFF.tfrecord"));
  EXPECT_THAT(found({"d/{a,\xFF}*"}), ElementsAre("d/a\nb.tfrecord", "d/\xFF.tfrecord"));
  EXPECT_THAT(found({"d/{a\nb,\xFF}.tfrecord"}), ElementsAre("d/a\nb.tfrecord", "d/\xFF.tfrecord"));
}

TEST_F(InputFiles, HugeSetsAreRefused) {
  for (const std::string name :
       {"{0..99999999999}", "a@99999999", "a@99999999999999999999999", "{a,b}@600000",
        "{0..999}{0..999}{0..999}", "https://host/{0..99999999999}"}) {
    const Error error = error_of([&] { find_input_files(posix_file_system(), {name}); });
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded) << name;
    EXPECT_EQ(error.path(), name);
  }
  // Few files, but names that take gigabytes.
  const std::string longest(100'000, 'x');
  for (const std::string& name :
       {longest + "@100000", "https://host/{1..100000}?" + longest, "a" + longest + "@9999999"}) {
    EXPECT_EQ(error_of([&] { find_input_files(posix_file_system(), {name}); }).kind(),
              ErrorKind::limit_exceeded);
  }
  // A pattern may be longer than any path.
  std::string names = "{";
  for (int i = 0; i < 2000; ++i) names += "missing,";
  EXPECT_THAT(failure(names + "x}").reason(), HasSubstr("2,001 of 2,001"));
}

// Any request is a failure.
TEST(InputUrls, AreExpandedWithoutRequests) {
  class NoFiles final : public SingleFileSystem {
   public:
    NoFiles() : SingleFileSystem("") {}
    std::optional<FileStatus> status(const std::string& path) override {
      ADD_FAILURE() << path;
      return std::nullopt;
    }
  } files;
  EXPECT_THAT(find_input_files(files, {"https://h/{a,b}-@x?k={c,d}@2", "http://h/a@2?k=[1]*"}),
              ElementsAre("https://h/a-@x?k={c,d}@2", "https://h/b-@x?k={c,d}@2",
                          "http://h/a-00000-of-00002?k=[1]*", "http://h/a-00001-of-00002?k=[1]*"));
  const std::vector<std::string> unchanged = {"https://h/a*b[c]?d", "https://user:{a,b}@80",
                                              "https://user@80", "https://h/d/"};
  EXPECT_EQ(find_input_files(files, unchanged), unchanged);
  EXPECT_EQ(find_input_files(files, {"https://h/{a,b}@2"}, {.literal = true}),
            std::vector<std::string>{"https://h/{a,b}@2"});
  const Error error =
      error_of([&] { find_input_files(files, {"https://me:secret@h/{1..99999999}?key=secret"}); });
  EXPECT_THAT(std::string(error.what()), testing::Not(HasSubstr("secret")));
}

TEST_F(InputFiles, AFolderIsListedOnceAndItsFilesHaveNoRequests) {
  std::vector<std::string> names;
  for (int i = 100; i < 200; ++i) names.push_back("d/" + std::to_string(i) + ".tfrecord");
  make(names);
  make({"d/e/1.tfrecord", "d/e/f/1.tfrecord"});
  EXPECT_EQ(calls("d"), 2U);
  EXPECT_EQ(calls("d", {.recursive = true}), 4U);
  EXPECT_EQ(calls("d/*"), 2U);
  EXPECT_EQ(calls("d/**/1*"), 4U);
  EXPECT_EQ(calls("d/{100..199}.tfrecord"), 2U);
  EXPECT_EQ(calls("d/{10,11,12}*"), 2U);
  EXPECT_EQ(calls("d/{100,101}.tfrecord"), 3U);
  FaultyFileSystem files(posix_file_system());
  find_input_files(files, in_folder({"d/1*", "d/*2*", "d"}));
  EXPECT_EQ(files.calls(), 4U);
}

TEST_F(InputFiles, AFailingFileSystemIsNoEmptyFolder) {
  make({"d/1.tfrecord", "d/e/2.tfrecord", "s-00000-of-00001"});
  for (const std::string name : {"d", "d/**/*", "d/{1,e/2}.tfrecord", "s@1", "d/*/"}) {
    for_every_fault(
        posix_file_system(), EIO,
        [&](FileSystem& files) {
          find_input_files(files, {directory / name}, {.recursive = true});
        },
        [](const FaultyFileSystem&) {}, [] {},
        // The reader of the path reports it.
        {"is_directory"});
  }
}

TEST_F(InputFiles, AFolderThatCannotBeListedMayHaveFiles) {
  class Unlistable final : public SingleFileSystem {
   public:
    Unlistable() : SingleFileSystem("") {}
    std::optional<FileStatus> status(const std::string& path) override {
      return posix_file_system().status(path);
    }
    std::vector<std::string> list(const std::string& path) override {
      throw system_error(EACCES, "list", path);
    }
  } files;
  make({"d/1", "d/2", "d/3", "d/4", "d/5"});
  EXPECT_EQ(find_input_files(files, {directory / "d/{1..5}"}).size(), 5U);
  for (const std::string name : {"d/*", "d", "d/**/x"}) {
    EXPECT_EQ(error_of([&] { find_input_files(files, {directory / name}); }).kind(),
              ErrorKind::permission_denied);
  }
}

}  // namespace
}  // namespace recordpipe
