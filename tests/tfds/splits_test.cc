// Tests the slicing syntax of splits. Random expressions are compared with TFDS in tests/interop.
#include "recordpipe/tfds/splits.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "tests/support/expect_error.h"

namespace recordpipe::tfds {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ranges = std::vector<ExampleRange>;

Info info() {
  Info made;
  made.splits = {{"train", {7, 0, 30, 13}, {"t0", "t1", "t2", "t3"}},
                 {"val-1", {3, 2}, {"v0", "v1"}}};
  return made;
}

Ranges parsed(std::string_view split) { return parse_split(split, info()); }

TEST(Splits, Ranges) {
  EXPECT_EQ(parsed("train"), (Ranges{{"train", 0, 50}}));
  EXPECT_EQ(parsed("train[:80%]"), (Ranges{{"train", 0, 40}}));
  EXPECT_EQ(parsed("train[10:20]+val-1"), (Ranges{{"train", 10, 20}, {"val-1", 0, 5}}));
  EXPECT_EQ(parsed("train[-5:] + train[:-45]"), (Ranges{{"train", 45, 50}, {"train", 0, 5}}));
  EXPECT_EQ(parsed("train[:3shard]"), (Ranges{{"train", 0, 37}}));
  EXPECT_EQ(parsed("train[-1shard]"), (Ranges{{"train", 37, 50}}));
  EXPECT_EQ(parsed("train[2shard]"), (Ranges{{"train", 7, 37}}));
  EXPECT_EQ(parsed("train[1shard]"), Ranges());
  EXPECT_EQ(parsed("all"), (Ranges{{"train", 0, 50}, {"val-1", 0, 5}}));
  EXPECT_EQ(parsed("train[1_0:2_0]"), (Ranges{{"train", 10, 20}}));
  EXPECT_EQ(parsed("train[20:10]"), Ranges());
}

TEST(Splits, HalvesAreRoundedToEven) {
  EXPECT_EQ(parsed("val-1[:50%]"), (Ranges{{"val-1", 0, 2}}));  // 2.5
  EXPECT_EQ(parsed("val-1[:30%]"), (Ranges{{"val-1", 0, 2}}));  // 1.5
  EXPECT_EQ(parsed("val-1[:10%]"), Ranges());                   // 0.5
  EXPECT_EQ(parsed("val-1[:70%]"), (Ranges{{"val-1", 0, 4}}));  // 3.5
}

TEST(Splits, TheUnitOfOneEndHoldsForBoth) {
  EXPECT_EQ(parsed("train[10:20%]"), (Ranges{{"train", 5, 10}}));
  EXPECT_EQ(parsed("train[:0shard]"), (Ranges{{"train", 0, 50}}));  // as odd as in TFDS
}

TEST(Splits, Errors) {
  for (const char* split : {"",
                            "+",
                            "train+",
                            "train[",
                            "train[]",
                            "train[:]",
                            "train[5]",
                            "train[5%]",
                            "train[a:]",
                            "train[1.5:]",
                            "train[:51]",
                            "train[-51:]",
                            "train[:101%]",
                            "train[1:2:3]",
                            "all[:5]",
                            "train[5:]x",
                            "tra in",
                            "train[--5:]",
                            "train[_5:]",
                            "train[%:]",
                            "train[99999999999999999999:]",
                            "train[9223372036854775807shard]"}) {
    EXPECT_EQ(error_of([&] { parsed(split); }).kind(), ErrorKind::invalid_argument) << split;
  }
  EXPECT_THAT(error_of([&] { parsed("test"); }).reason(), HasSubstr("there are train, val-1"));
}

TEST(Splits, FilesOfRanges) {
  const Info made = info();
  EXPECT_THAT(
      file_ranges(parsed("train[5:8]+val-1[3:]"), made),
      ElementsAre(FileRange{"t0", 5, 7, 7}, FileRange{"t2", 0, 1, 30}, FileRange{"v1", 0, 2, 2}));
  EXPECT_THAT(file_ranges(parsed("train[7:37]"), made), ElementsAre(FileRange{"t2", 0, 30, 30}));
}

}  // namespace
}  // namespace recordpipe::tfds
