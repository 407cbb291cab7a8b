// Tests the decoding of Examples to Dicts; equality with TFDS is tested in tests/interop.
#include "recordpipe/tfds/decode.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/dict_batch.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/image/encode_png.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/mutator.h"
#include "tests/tfds/made_set.h"

namespace recordpipe::tfds {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ExampleDecoder decoder_of(const std::string& features, ExampleOptions options = {}) {
  return ExampleDecoder(parse_features(features), std::move(options));
}

Dict decoded(const std::string& features, const ExampleBuilder& example,
             ExampleOptions options = {}) {
  const std::string bytes = example.serialize();
  return decoder_of(features, std::move(options))({.data = as_bytes(bytes)});
}

template <class T>
std::vector<T> values(const DictValue& value) {
  const auto all = value.array().values<T>();
  return {all.begin(), all.end()};
}

TEST(Decode, IntegersWrapAndBoolsAreOneOrZero) {
  ExampleBuilder example;
  example.set_int64s("x", std::vector<int64_t>{0, -1, 300, INT64_MIN});
  const auto as = [&](const char* dtype) {
    return decoded(dict({"x", tensor(dtype, "[4]")}), example).at("x");
  };
  EXPECT_THAT(values<uint8_t>(as("uint8")), ElementsAre(0, 255, 44, 0));
  EXPECT_THAT(values<int8_t>(as("int8")), ElementsAre(0, -1, 44, 0));
  EXPECT_THAT(values<uint64_t>(as("uint64")), ElementsAre(0, UINT64_MAX, 300, uint64_t{1} << 63));
  EXPECT_THAT(values<uint8_t>(as("bool")), ElementsAre(0, 1, 1, 1));
}

TEST(Decode, AnUnknownDimensionFollowsFromTheNumberOfValues) {
  ExampleBuilder example;
  example.set_floats("x", std::vector<float>{1, 2, 3, 4, 5, 6});
  const DictValue middle = decoded(dict({"x", tensor("float64", "[3, -1, 2]")}), example).at("x");
  EXPECT_THAT(middle.array().shape, ElementsAre(3, 1, 2));
  EXPECT_EQ(middle.stacking, Stacking::list);
  const DictValue first = decoded(dict({"x", tensor("float32", "[-1, 2]")}), example).at("x");
  EXPECT_EQ(first.stacking, Stacking::ragged);
  const DictValue none = decoded(dict({"x", tensor("float32", "[-1, 2]")}), {}).at("x");
  EXPECT_THAT(none.array().shape, ElementsAre(0, 2));
  const Error error = error_of([&] {
    decoded(dict({"x", tensor("float32", "[-1, 4]")}), example);
  });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_THAT(error.reason(), HasSubstr("feature \"x\": 6 values, for the shape [?, 4]"));
}

TEST(Decode, AMaskWithTheNameOfAFeature) {
  const std::string features =
      dict({"x", tensor("int32", "[]", R"("optional": true)"), "x_mask", text()});
  EXPECT_EQ(error_of([&] { decoder_of(features); }).kind(), ErrorKind::unsupported);
  decoder_of(features, {.missing = MissingValues::fill});
}

TEST(Decode, ErrorsNameTheRecord) {
  const std::string record = "not an Example";
  const ExampleDecoder decoder = decoder_of(dict({"x", text()}));
  const Error error =
      error_of([&] { decoder({.data = as_bytes(record), .offset = 40, .path = "a/b"}); });
  EXPECT_EQ(error.kind(), ErrorKind::corrupted);
  EXPECT_EQ(error.path(), "a/b");
  EXPECT_EQ(error.offset(), 40u);
}

TEST(Decode, DatasetsHaveOneNumberOfSteps) {
  const std::string features =
      dict({"steps",
            sequence(dict({"a", tensor("int32"), "b", tensor("float32", "[2]")}), -1, "Dataset")});
  ExampleBuilder example;
  example.set_int64s("steps/a", std::vector<int64_t>{1, 2});
  example.set_floats("steps/b", std::vector<float>{1, 2, 3, 4});
  EXPECT_THAT(decoded(features, example).at("steps/b").array().shape, ElementsAre(2, 2));
  example.set_floats("steps/b", std::vector<float>{1, 2});
  EXPECT_EQ(error_of([&] { decoded(features, example); }).kind(), ErrorKind::corrupted);
}

TEST(Decode, SizesAreCheckedBeforeMemoryIsTaken) {
  ExampleBuilder example;
  example.set_bytes("value", "12345678");
  const std::string huge = R"(["4611686018427387904", "4611686018427387904"])";
  EXPECT_EQ(error_of([&] {
              decoded(dict({"x", tensor("int64", huge, R"("optional": true)")}), {});
            }).kind(),
            ErrorKind::limit_exceeded);
  ExampleBuilder shaped;
  shaped.set_bytes("x/value", "12345678");
  shaped.set_int64s("x/shape", std::vector<int64_t>{INT64_MAX, INT64_MAX});
  const std::string unknown = R"(["-1", "-1"])";
  EXPECT_EQ(error_of([&] {
              decoded(dict({"x", tensor("int64", unknown, R"("encoding": "bytes")")}), shaped);
            }).kind(),
            ErrorKind::unsupported);
  EXPECT_EQ(error_of([&] {
              decoded(dict({"x", tensor("int64", unknown, R"("encoding": "zlib")")}), shaped);
            }).kind(),
            ErrorKind::limit_exceeded);
}

TEST(Decode, AllImagesOfASequenceTogetherAreLimited) {
  const std::vector<uint8_t> pixels(10 * 10 * 3, 7);
  const std::vector<std::byte> png = encode_png(pixels, 10, 10, 3);
  const std::string shape = image("[-1, -1, 3]");
  const std::string sequences[] = {sequence(shape), sequence(shape, -1, "Dataset"),
                                   sequence(image("[10, 10, 3]"))};
  for (const std::string& images : sequences) {
    const auto decode = [&](size_t count) {
      const std::vector<std::span<const std::byte>> files(count, png);
      ExampleBuilder example;
      example.set_bytes_list("x", files);
      const std::string bytes = example.serialize();
      return decoder_of(dict({"x", images}),
                        {.max_pixels = 100})({.data = as_bytes(bytes), .offset = 40, .path = "a"});
    };
    EXPECT_EQ(decode(16).size(), 1u);
    const Error error = error_of([&] { decode(17); });
    EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
    EXPECT_EQ(error.path(), "a");
    EXPECT_EQ(error.offset(), 40u);
    EXPECT_THAT(error.reason(), HasSubstr("feature \"x\": the images of one sequence"));
  }
}

TEST(Decode, DamagedRecordsAreErrors) {
  const std::string features = dict(
      {"image", image("[-1, -1, 3]"), "deep", image("[-1, -1, 1]", "uint16"), "float",
       image("[-1, -1, 1]", "float32"), "packed", tensor("uint16", "[2]", R"("encoding": "zlib")"),
       "any", tensor("int8", "[-1, -1]", R"("encoding": "bytes")"), "maybe",
       tensor("bool", "[]", R"("optional": true)"), "nested", sequence(sequence(tensor("int16"))),
       "steps",
       sequence(
           dict({"a", tensor("int32"), "words", sequence(text()), "view", image("[-1, -1, 1]")}),
           -1, "Dataset")});
  const std::vector<uint8_t> pixels(4 * 4 * 4, 7);
  const auto png = [&](size_t channels) {
    return encode_png(std::span(pixels).first(16 * channels), 4, 4, channels);
  };
  const std::vector<std::byte> grey = png(1);
  ExampleBuilder example;
  example.set_bytes("image", png(3));
  example.set_bytes("deep", grey);
  example.set_bytes("float", png(4));
  example.set_bytes("packed", from_hex("789c6364626601000018000b"));
  example.set_bytes("any/value", "abcdef");
  example.set_int64s("any/shape", std::vector<int64_t>{2, 3});
  example.set_int64s("nested/ragged_flat_values", std::vector<int64_t>{1, 2, 3});
  example.set_int64s("nested/ragged_row_lengths_0", std::vector<int64_t>{2, 0, 1});
  example.set_int64s("steps/a", std::vector<int64_t>{1, 2});
  const std::span<const std::byte> words[] = {as_bytes("x"), as_bytes("y")};
  example.set_bytes_list("steps/words/ragged_flat_values", words);
  example.set_int64s("steps/words/ragged_row_lengths_0", std::vector<int64_t>{0, 2});
  const std::span<const std::byte> views[] = {grey, grey};
  example.set_bytes_list("steps/view", views);
  const std::string whole = example.serialize();

  const ExampleDecoder all = decoder_of(features, {.max_pixels = 1 << 16, .max_bytes = 1 << 20});
  const ExampleDecoder encoded =
      decoder_of(features, {.decode_images = false, .max_bytes = 1 << 20});
  EXPECT_EQ(all({.data = as_bytes(whole)}).size(), 8u);
  Mutator mutator(7);
  int good = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string damaged = mutator.mutate(whole, whole);
    for (const ExampleDecoder* decoder : {&all, &encoded}) {
      try {
        Dict dict = (*decoder)({.data = as_bytes(damaged)});
        EXPECT_EQ(dict.size(), 8u);
        DictBatch batch;
        DictCollator().reset(batch, 1);
        DictCollator().set(batch, 0, std::move(dict));
        DictCollator().finish(batch);
        ++good;
      } catch (const Error&) {
      }
    }
  }
  EXPECT_GT(good, 100);
}

}  // namespace
}  // namespace recordpipe::tfds
