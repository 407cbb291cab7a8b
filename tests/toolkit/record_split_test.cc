// Tests that splits stay: the expected ones were computed by another implementation, from the
// formulas in record_split.h.
#include "dataset/toolkit/jobs/record_split.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/example/example_builder.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

const std::vector<SplitPart> kParts = {{"train", 0.5}, {"val", 0.3}, {"test", 0.2}};
constexpr uint64_t kSeed = 7;

std::string splits_of(const std::function<size_t(uint64_t i)>& split_of) {
  std::string splits;
  for (uint64_t i = 0; i < 32; ++i) splits += std::to_string(split_of(i));
  return splits;
}

std::string splits_by_key(const std::function<std::string(uint64_t i)>& record_of) {
  RecordSplitter splitter({.parts = kParts, .key = "key"}, kSeed);
  return splits_of([&](uint64_t i) {
    const std::string record = record_of(i);
    return splitter.split_of({{.data = as_bytes(record)}, i});
  });
}

TEST(RecordSplit, DrawnByTheNameOfTheFile) {
  const std::string expected = "00100201202000022000111001000122";
  for (const std::string path : {"train", "/a/train.gz", "https://host/b/train.zst?c=/d"}) {
    RecordSplitter splitter({.parts = kParts}, kSeed);
    EXPECT_EQ(splits_of([&](uint64_t i) { return splitter.drawn(path, i); }), expected) << path;
    EXPECT_EQ(splits_of([&](uint64_t i) {
                return splitter.split_of({{.data = {}, .path = path}, i});
              }),
              expected);
  }
  RecordSplitter splitter({.parts = kParts}, kSeed);
  EXPECT_NE(splits_of([&](uint64_t i) { return splitter.drawn("other", i); }), expected);
  EXPECT_EQ(splits_of([&](uint64_t i) { return splitter.drawn("train", i); }), expected);
}

TEST(RecordSplit, ByTheHashOfAFeature) {
  EXPECT_EQ(splits_by_key([](uint64_t i) {
              return ExampleBuilder().set_bytes("key", "user" + std::to_string(i)).serialize();
            }),
            "00000000122022010222200120022011");
  EXPECT_EQ(splits_by_key([](uint64_t i) {
              return ExampleBuilder().set_int64("key", static_cast<int64_t>(i)).serialize();
            }),
            "20001010011201110000120100010102");
}

TEST(RecordSplit, TheLastTakesWhatRoundingLeaves) {
  RecordSplitter splitter({.parts = {{"a", 0.9999995}}}, kSeed);
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(splitter.drawn("x", i), 0u);
}

}  // namespace
}  // namespace recordpipe
