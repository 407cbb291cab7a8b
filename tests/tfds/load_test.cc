// Tests load(): slices, order, random access, counts of records, batches with images.
#include "recordpipe/tfds/load.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/dict_batch.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/image/encode_png.h"
#include "recordpipe/tfds/batch.h"
#include "tests/pipeline/collect.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"
#include "tests/tfds/made_set.h"

namespace recordpipe::tfds {
namespace {

using ::testing::HasSubstr;

class Load : public ::testing::Test {
 protected:
  TemporaryDirectory folder;

  void SetUp() override {
    std::vector<std::vector<std::string>> shards(3);
    for (int i = 0; i < 12; ++i) {
      const std::vector<uint8_t> pixels(7 * 5 * 3, static_cast<uint8_t>(i * 20));
      ExampleBuilder example;
      example.set_int64("x", i);
      example.set_bytes("image", encode_png(pixels, 7, 5, 3));
      shards[static_cast<size_t>(i < 5 ? 0 : i < 6 ? 1 : 2)].push_back(example.serialize());
    }
    write_set(folder.path(), dict({"x", tensor("int32"), "image", image("[7, 5, 3]")}),
              {{"train", shards}, {"val", {{shards[0][0]}}}});
  }

  static std::vector<int> numbers_of(const Dataset<Dict>& dataset) {
    std::vector<int> all;
    for (const Dict& dict : dataset) all.push_back(dict.at("x").array().values<int32_t>()[0]);
    return all;
  }
};

TEST_F(Load, Slices) {
  EXPECT_EQ(numbers_of(load(folder.path())), numbers(12));
  EXPECT_EQ(numbers_of(load(folder.path(), "train[4:7]+val+train[-1:]")),
            (std::vector<int>{4, 5, 6, 0, 11}));
  EXPECT_EQ(numbers_of(load(folder.path(), "train[3:3]")), std::vector<int>());
  EXPECT_EQ(load(folder.path(), "train[4:7]+val").cardinality(), 4);
}

TEST_F(Load, AGlobalShuffleOpensOnlyTheFilesOfTheSlice) {
  write_file(folder / "made-train.tfrecord-00000-of-00003", "damaged");
  std::vector<int> shuffled = numbers_of(load(folder.path(), "train[5:]").global_shuffle(3));
  std::ranges::sort(shuffled);
  EXPECT_EQ(shuffled, (std::vector<int>{5, 6, 7, 8, 9, 10, 11}));
}

TEST_F(Load, AnotherNumberOfRecords) {
  std::filesystem::copy_file(folder / "made-train.tfrecord-00000-of-00003",
                             folder / "made-train.tfrecord-00001-of-00003",
                             std::filesystem::copy_options::overwrite_existing);
  for (const Dataset<Dict>& dataset : {load(folder.path()), load(folder.path()).global_shuffle(1),
                                       load(folder.path()).shuffle(3, 1)}) {
    const Error error = error_of([&] { collect(dataset); });
    EXPECT_EQ(error.kind(), ErrorKind::corrupted);
    EXPECT_THAT(error.path(), HasSubstr("00001-of-00003"));
    EXPECT_THAT(error.reason(), HasSubstr("5 records, where 1 are expected"));
  }
}

TEST_F(Load, BatchesWithImagesThatAreCropped) {
  const Info info = read_info(folder.path());
  const ExamplesCollator crops(read_features(folder.path()), {},
                               {{.feature = "image",
                                 .source = DecodeOptions{.channels = 3},
                                 .distortion = RandomResizedCrop{.to = {4, 4}},
                                 .layout = Layout::nchw,
                                 .seed = 7}});
  const auto pipeline = [&](size_t threads) {
    return draw_images(records(info, parse_split("train", info)).global_shuffle(7), crops.images())
        .batch(5, DropRemainder::no, crops)
        .with_options({.threads = threads});
  };
  std::vector<Dict> once;
  for (const ExamplesBatch& batch : pipeline(1)) once.push_back(batch.columns);
  ASSERT_EQ(once.size(), 3u);
  for (const Dict& columns : once) {
    const Array& images = columns.at("image").array();
    const Array& x = columns.at("x").array();
    ASSERT_EQ(images.shape, (std::vector<size_t>{x.size(), 3, 4, 4}));
    for (size_t row = 0; row < x.size(); ++row) {  // images of one colour stay so
      EXPECT_EQ(images.values<uint8_t>()[row * 48],
                static_cast<uint8_t>(x.values<int32_t>()[row] * 20));
    }
  }
  size_t i = 0;
  for (const ExamplesBatch& batch : pipeline(3)) EXPECT_EQ(batch.columns, once[i++]);
}

// Leaves that become columns at once, and others, beside the decoder and DictCollator.
TEST(Batches, AreThoseOfTheDecoder) {
  const std::string mixed =
      dict({"a",
            dict({"all", dict({"plain", tensor("uint8", "[2]"), "text", text()}), "list",
                  tensor("bool", "[-1]")}),
            "b",
            tensor("float64", "[1, 2]"),
            "c",
            tensor("int16", "[]", R"("optional": true)"),
            "d",
            tensor("uint32", "[-1, 2]"),
            "e",
            tensor("float16"),
            "f",
            sequence(dict({"x", tensor("uint64"), "words", sequence(text())})),
            "g",
            sequence(tensor("int8"), 3),
            "h",
            tensor("int64", "[0]"),
            "i",
            sequence(dict({"x", tensor("int32")}), -1, "Dataset"),
            "names",
            sequence(text())});
  const std::string flat = dict({"a", dict({"all", dict({"plain", tensor("uint8", "[2]")})})});
  std::vector<std::string> made;
  for (int64_t i = 0; i < 13; ++i) {
    const std::vector<int64_t> counted(static_cast<size_t>(i % 4), 100 * i);
    const std::vector<int64_t> pairs(counted.size() * 2, -i);
    std::vector<std::span<const std::byte>> words(counted.size(), as_bytes("word"));
    ExampleBuilder example;
    example.set_int64s("a/all/plain", std::vector<int64_t>{i, 300 + i});
    example.set_bytes("a/all/text", "text " + std::to_string(i));
    example.set_int64s("a/list", counted);
    example.set_floats("b", std::vector<float>{0.5f, static_cast<float>(i)});
    if (i % 3 == 0) example.set_int64("c", i);
    example.set_int64s("d", pairs);
    example.set_float("e", static_cast<float>(i) / 3);
    if (i != 5) example.set_int64s("f/x", counted);
    example.set_bytes_list("f/words/ragged_flat_values", words);
    example.set_int64s("f/words/ragged_row_lengths_0", std::vector<int64_t>(counted.size(), 1));
    example.set_int64s("g", std::vector<int64_t>{i, 2, 3});
    example.set_int64s("h", {});
    example.set_int64s("i/x", counted);
    example.set_bytes_list("names", words);
    made.push_back(example.serialize());
  }
  for (const std::string& features : {mixed, flat}) {
    const TemporaryDirectory folder;
    write_set(folder.path(), features, {{"train", {made}}});
    const Info info = read_info(folder.path());
    const auto ours =
        collect(records(info, parse_split("train", info))
                    .batch(5, DropRemainder::no, ExamplesCollator(read_features(folder.path()))));
    const auto twins = collect(load(folder.path()).batch(5, DropRemainder::no, DictCollator()));
    ASSERT_EQ(ours.size(), 3u);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(ours[i].columns, twins[i].columns);
  }
}

// The code of docs/tfds.md, which tests/docs/tfds_test.py compares.
TEST(Page, CodeOfThePage) {
  const TemporaryDirectory folder;
  std::vector<std::string> examples;
  for (int64_t i = 0; i < 100; ++i) {
    ExampleBuilder example;
    example.set_int64("label", i);
    const std::vector<float> boxes(static_cast<size_t>(i % 3) * 4, static_cast<float>(i));
    if (!boxes.empty()) example.set_floats("objects/bbox", boxes);
    examples.push_back(example.serialize());
  }
  write_set(folder / "data/pictures/1.0.0",
            dict({"label", tensor("int64"), "objects",
                  sequence(dict({"bbox", tensor("float32", "[4]")}))}),
            {{"train", {examples}}});
  size_t rows = 0;
  const auto use = [&](const RaggedArray& boxes, const Array& labels) {
    const auto numbers = labels.values<int64_t>();
    for (size_t row = 0; row < numbers.size(); ++row, ++rows) {
      EXPECT_LT(numbers[row], 80);
      EXPECT_EQ(boxes.splits[0][row + 1] - boxes.splits[0][row], numbers[row] % 3);
    }
  };
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  {
    using namespace recordpipe;
    const Dataset<Dict> train = tfds::load("data/pictures/1.0.0", "train[:80%]");
    for (const DictBatch& batch :
         train.global_shuffle(7).batch(64, DropRemainder::yes, DictCollator()).prefetch()) {
      use(batch.columns.at("objects/bbox").ragged(), batch.columns.at("label").array());
    }
  }
  std::filesystem::current_path(before);
  EXPECT_EQ(rows, 64u);
}

TEST_F(Load, BatchesWithoutImageSpecsAreThoseOfTheDecoder) {
  const Info info = read_info(folder.path());
  const Feature features = read_features(folder.path());
  const auto ours = collect(records(info, parse_split("train", info))
                                .batch(5, DropRemainder::no, ExamplesCollator(features)));
  const auto twins = collect(load(folder.path()).batch(5, DropRemainder::no, DictCollator()));
  ASSERT_EQ(ours.size(), twins.size());
  for (size_t i = 0; i < ours.size(); ++i) EXPECT_EQ(ours[i].columns, twins[i].columns);
}

}  // namespace
}  // namespace recordpipe::tfds
