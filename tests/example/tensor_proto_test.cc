// Reads serialised tensors: written by hand from TensorFlow's tensor.proto, at random, and damaged.
#include "recordpipe/example/tensor_proto.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/example/parse_example.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/mutator.h"

namespace recordpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out += static_cast<char>(value);
}

std::string field(uint32_t number, const std::string& content) {
  return varint(number << 3 | 2) + varint(content.size()) + content;
}

std::string number_field(uint32_t number, uint64_t value) {
  return varint(number << 3) + varint(value);
}

std::string shape_field(const std::vector<int64_t>& sizes) {
  std::string shape;
  for (const int64_t size : sizes) {
    // Protobuf leaves out a size of 0.
    shape += field(2, size == 0 ? "" : number_field(1, static_cast<uint64_t>(size)));
  }
  return field(2, shape);
}

std::string head(int type, const std::vector<int64_t>& sizes) {
  return number_field(1, static_cast<uint64_t>(type)) + shape_field(sizes);
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::vector<T> values_of(const std::string& tensor) {
  const TensorView view = parse_tensor(as_bytes(tensor));
  EXPECT_EQ(size_of(view.type()), sizeof(T));
  std::vector<T> values(view.size());
  view.copy_to(std::as_writable_bytes(std::span(values)));
  return values;
}

std::string elements_of(const TensorView& tensor) {
  std::string out(tensor.size() * size_of(tensor.type()), 'x');
  tensor.copy_to(std::as_writable_bytes(std::span(out)));
  return out;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Error parse_error(const std::string& tensor) {
  return error_of([&] { parse_tensor(as_bytes(tensor)); });
}

TEST(TensorProto, ContentIsOneBlock) {
  // tf.io.serialize_tensor(tf.constant([[1, 2, 3], [4, 5, 6]], tf.int16))
  const std::string tensor =
      from_hex("08 05 12 08 12 02 08 02 12 02 08 03 22 0c 0100 0200 0300 0400 0500 0600");
  const TensorView view = parse_tensor(as_bytes(tensor));
  EXPECT_EQ(view.type(), TensorType::int16);
  EXPECT_THAT(view.shape(), ElementsAre(2, 3));
  EXPECT_THAT(values_of<int16_t>(tensor), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(TensorProto, AScalarHasNoDimensions) {
  const std::string content = head(1, {}) + field(4, bytes_of<float>({2.5f}));
  EXPECT_TRUE(parse_tensor(as_bytes(content)).shape().empty());
  EXPECT_THAT(values_of<float>(content), ElementsAre(2.5f));
  // No shape field at all.
  EXPECT_THAT(values_of<float>(number_field(1, 1) + field(5, bytes_of<float>({1}))),
              ElementsAre(1));
}

TEST(TensorProto, ListsOfNumbers) {
  EXPECT_THAT(values_of<double>(head(2, {2}) + field(6, bytes_of<double>({1, -2}))),
              ElementsAre(1, -2));
  EXPECT_THAT(values_of<int8_t>(head(6, {2}) + field(7, varint(uint64_t(-3)) + varint(4))),
              ElementsAre(-3, 4));
  EXPECT_THAT(values_of<uint16_t>(head(17, {1}) + field(7, varint(65535))), ElementsAre(65535));
  EXPECT_THAT(values_of<int64_t>(head(9, {2}) + field(10, varint(uint64_t(-1)) + varint(1))),
              ElementsAre(-1, 1));
  EXPECT_THAT(values_of<uint64_t>(head(23, {1}) + field(17, varint(~uint64_t{0}))),
              ElementsAre(~uint64_t{0}));
  EXPECT_THAT(values_of<uint32_t>(head(22, {1}) + field(16, varint(7))), ElementsAre(7));
  EXPECT_THAT(values_of<uint8_t>(head(10, {3}) + field(11, std::string("\1\0\2", 3))),
              ElementsAre(1, 0, 1));
  EXPECT_THAT(values_of<uint16_t>(head(19, {1}) + field(13, varint(0x3c00))), ElementsAre(0x3c00));
  EXPECT_THAT(values_of<uint16_t>(head(14, {1}) + field(13, varint(0x3f80))), ElementsAre(0x3f80));
  // Not packed.
  EXPECT_THAT(values_of<int32_t>(head(3, {2}) + number_field(7, 5) + number_field(7, 6)),
              ElementsAre(5, 6));
}

TEST(TensorProto, ComplexValuesArePairs) {
  const std::string tensor = head(8, {3}) + field(9, bytes_of<float>({1, 2, 3, 4}));
  std::vector<float> values(6);
  parse_tensor(as_bytes(tensor)).copy_to(std::as_writable_bytes(std::span(values)));
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 3, 4));
  EXPECT_THAT(parse_error(head(8, {2}) + field(9, bytes_of<float>({1, 2, 3}))).reason(),
              HasSubstr("3 numbers"));
}

TEST(TensorProto, TheLastNumberIsRepeated) {
  EXPECT_THAT(values_of<float>(head(1, {2, 2}) + field(5, bytes_of<float>({1, 7}))),
              ElementsAre(1, 7, 7, 7));
  EXPECT_THAT(values_of<int32_t>(head(3, {3})), ElementsAre(0, 0, 0));
  EXPECT_THAT(values_of<int32_t>(head(3, {0, 5})), ElementsAre());
}

TEST(TensorProto, BoolsAreZeroOrOne) {
  EXPECT_THAT(values_of<uint8_t>(head(10, {3}) + field(4, std::string("\0\1\x80", 3))),
              ElementsAre(0, 1, 1));
}

TEST(TensorProto, HostileShapes) {
  const int64_t huge = int64_t{1} << 62;
  EXPECT_THAT(parse_error(head(1, {huge})).reason(), HasSubstr("too large"));
  EXPECT_THAT(parse_error(head(1, {1 << 30, 1 << 30, 1 << 30})).reason(), HasSubstr("too large"));
  EXPECT_THAT(parse_error(head(1, {-1})).reason(), HasSubstr("dimension of -1"));
  EXPECT_THAT(parse_error(number_field(1, 1) + field(2, number_field(3, 1))).reason(),
              HasSubstr("unknown rank"));
  EXPECT_EQ(parse_error(head(1, std::vector<int64_t>(33, 1))).kind(), ErrorKind::limit_exceeded);
  // Only a description: no memory is taken.
  EXPECT_EQ(parse_tensor(as_bytes(head(1, {int64_t{1} << 50}))).size(), size_t{1} << 50);
}

TEST(TensorProto, OtherInvalidTensors) {
  EXPECT_EQ(parse_error("").kind(), ErrorKind::corrupted);
  EXPECT_THAT(parse_error(head(7, {1})).reason(), HasSubstr("strings"));
  EXPECT_EQ(parse_error(head(20, {1})).kind(), ErrorKind::unsupported);
  EXPECT_THAT(parse_error(head(1, {2}) + field(4, "12345")).reason(),
              HasSubstr("5 bytes of content"));
  EXPECT_THAT(parse_error(head(3, {1}) + field(7, "\1\2")).reason(), HasSubstr("2 numbers"));
  const Error cut = parse_error(head(1, {2}) + "\x22\x09");
  EXPECT_THAT(cut.reason(), HasSubstr("not a TensorProto: "));
  EXPECT_EQ(cut.offset(), 10u);
}

TEST(TensorProto, TensorFlowsFiles) {
  size_t types = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RECORDPIPE_DATA_DIR "/tensors")) {
    const std::string name = entry.path().stem().string();
    const size_t end = name.find("-content");
    if (end == std::string::npos) continue;
    SCOPED_TRACE(name);
    const std::string type = name.substr(0, end);
    const std::string content = read_file(entry.path());
    const std::string list = read_file(entry.path().parent_path() / (type + "-list.tensor"));
    const TensorView of_content = parse_tensor(as_bytes(content));
    const TensorView of_list = parse_tensor(as_bytes(list));
    EXPECT_EQ(to_string(of_content.type()), type);
    EXPECT_EQ(of_list.type(), of_content.type());
    EXPECT_THAT(of_content.shape(), ElementsAre(2, 3));
    EXPECT_THAT(of_list.shape(), ElementsAre(2, 3));
    // TensorFlow itself wrote the elements as they are in memory.
    const std::string bytes = elements_of(of_content);
    EXPECT_EQ(to_hex(elements_of(of_list)), to_hex(bytes));
    EXPECT_EQ(content.substr(content.size() - bytes.size()), bytes);
    ++types;
  }
  EXPECT_EQ(types, 15u);
  EXPECT_THAT(values_of<float>(read_file(RECORDPIPE_DATA_DIR "/tensors/repeated.tensor")),
              ElementsAre(7, 7, 7, 7, 7, 7));
}

// One of the encodings of random values, chosen at random, with other fields around it.
std::string random_tensor(std::mt19937_64& random, std::vector<int32_t>& values,
                          std::vector<int64_t>& shape) {
  shape.clear();
  size_t size = 1;
  for (size_t rank = random() % 4; rank > 0; --rank) {
    shape.push_back(static_cast<int64_t>(random() % 4));
    size *= static_cast<size_t>(shape.back());
  }
  values.resize(size);
  for (int32_t& value : values) value = static_cast<int32_t>(random() >> (32 + random() % 32));
  const size_t form = random() % 3;
  size_t stored = size;
  if (form > 0 && size > 0) {
    stored = 1 + random() % size;
    for (size_t i = stored; i < size; ++i) values[i] = values[stored - 1];
  }
  std::string body, packed;
  if (form == 0) body = field(4, bytes_of(values));
  for (size_t i = 0; form > 0 && i < stored; ++i) {
    const auto bits = static_cast<uint64_t>(int64_t{values[i]});
    if (form == 1) {
      packed += varint(bits);
    } else {
      body += number_field(7, bits);
    }
  }
  if (form == 1) body = field(7, packed);
  if (random() % 2) body += number_field(3, 1);  // version_number
  if (random() % 2) return body + head(3, shape);
  return head(3, shape) + body;
}

TEST(TensorProto, RandomTensors) {
  std::mt19937_64 random(1);
  std::vector<int32_t> values;
  std::vector<int64_t> shape;
  for (int i = 0; i < 2000; ++i) {
    const std::string tensor = random_tensor(random, values, shape);
    ASSERT_EQ(values_of<int32_t>(tensor), values) << to_hex(tensor);
    const TensorView view = parse_tensor(as_bytes(tensor));
    ASSERT_TRUE(std::ranges::equal(view.shape(), shape)) << to_hex(tensor);
  }
}

// With AddressSanitizer, this also finds reads and writes outside of the buffers.
TEST(TensorProto, DamagedTensorsAreReadOrRefused) {
  std::mt19937_64 random(2);
  Mutator mutator(3);
  std::vector<int32_t> values;
  std::vector<int64_t> shape;
  size_t read = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string tensor =
        mutator.mutate(random_tensor(random, values, shape), random_tensor(random, values, shape));
    try {
      const TensorView view = parse_tensor(as_bytes(tensor));
      if (view.size() > 4096) continue;
      std::vector<std::byte> out(view.size() * size_of(view.type()));
      view.copy_to(out);
      ++read;
    } catch (const Error& error) {
      ASSERT_LE(error.offset().value_or(0), tensor.size());
    }
  }
  EXPECT_GT(read, 2000u);
}

// As a feature of Examples.

ExampleBatch parse(const std::vector<std::string>& tensors, SerializedTensor schema) {
  std::vector<std::string> examples;
  for (const std::string& tensor : tensors) {
    examples.push_back(ExampleBuilder().set_bytes("mask", as_bytes(tensor)).serialize());
  }
  std::vector<Record> records;
  for (const std::string& example : examples) records.push_back({.data = as_bytes(example)});
  return parse_example(records, ExampleCollator({{"mask", std::move(schema)}}));
}

std::vector<int16_t> int16s(std::span<const std::byte> bytes) {
  std::vector<int16_t> values(bytes.size() / sizeof(int16_t));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::string int16_tensor(const std::vector<int64_t>& shape, const std::vector<int16_t>& values) {
  return head(5, shape) + field(4, bytes_of(values));
}

TEST(SerializedTensorColumn, OfAFixedShape) {
  const ExampleBatch batch = parse({int16_tensor({2}, {1, 2}), head(5, {2}) + field(7, "\3")},
                                   {.type = TensorType::int16, .shape = {2}});
  const TensorColumn column = batch.tensor("mask");
  EXPECT_EQ(column.type, TensorType::int16);
  EXPECT_THAT(int16s(column.values), ElementsAre(1, 2, 3, 3));
  EXPECT_TRUE(column.row_splits.empty());
  EXPECT_THAT(error_of([&] { batch.dense<FeatureKind::bytes>("mask"); }).reason(),
              HasSubstr("no FixedLen feature"));
}

TEST(SerializedTensorColumn, OfAnyNumberOfItems) {
  const SerializedTensor schema{.type = TensorType::int16, .shape = {2}, .ragged = true};
  const ExampleBatch batch = parse({int16_tensor({2, 2}, {1, 2, 3, 4}), head(5, {0, 2}),
                                    head(5, {1, 2}), int16_tensor({1, 2}, {5, 6})},
                                   schema);
  const TensorColumn column = batch.tensor("mask");
  EXPECT_THAT(int16s(column.values), ElementsAre(1, 2, 3, 4, 0, 0, 5, 6));
  EXPECT_THAT(column.row_splits, ElementsAre(0, 2, 2, 3, 4));
  EXPECT_THAT(column.shape, ElementsAre(2));

  const TensorColumn none = ExampleBatch(parse({}, schema)).tensor("mask");
  EXPECT_TRUE(none.values.empty());
}

TEST(SerializedTensorColumn, Errors) {
  const SerializedTensor fixed{.type = TensorType::int16, .shape = {2}};
  const SerializedTensor ragged{.type = TensorType::int16, .shape = {2}, .ragged = true};
  const auto reason = [](const std::string& tensor, const SerializedTensor& schema) {
    return error_of([&] { parse({tensor}, schema); }).reason();
  };
  EXPECT_EQ(reason(head(1, {2}), fixed),
            "feature 'mask': a tensor of float32[2], not int16[2] in the record");
  EXPECT_THAT(reason(head(5, {3}), fixed), HasSubstr("int16[3], not int16[2]"));
  EXPECT_THAT(reason(head(5, {2, 2}), fixed), HasSubstr("int16[2, 2], not int16[2]"));
  EXPECT_THAT(reason(head(5, {2}), ragged), HasSubstr("int16[2], not int16[?, 2]"));
  EXPECT_THAT(reason(head(5, {}), ragged), HasSubstr("int16[], not int16[?, 2]"));
  EXPECT_THAT(reason("\x08", fixed),
              HasSubstr("feature 'mask': not a TensorProto: a varint that doesn't end (byte 1 of "
                        "the value)"));
  // 20 bytes that describe 2 PiB.
  EXPECT_THAT(reason(head(5, {int64_t{1} << 50, 2}), ragged), HasSubstr("repeats one value"));

  const std::string example = ExampleBuilder().set_int64("other", 1).serialize();
  const Record record{.data = as_bytes(example)};
  const ExampleCollator collator({{"mask", fixed}});
  EXPECT_EQ(error_of([&] { parse_single_example(record, collator); }).kind(), ErrorKind::not_found);
  EXPECT_EQ(collator.parameters()[0].value, "{'mask': tensor of int16[2]}");
  EXPECT_EQ(ExampleCollator({{"mask", ragged}}).parameters()[0].value,
            "{'mask': tensor of int16[?, 2]}");
}

TEST(SerializedTensorColumn, OfBytesWithoutATensorProto) {
  const SerializedTensor ragged{.type = TensorType::int16,
                                .shape = {2},
                                .ragged = true,
                                .encoding = TensorEncoding::big_endian};
  const ExampleBatch batch =
      parse({from_hex("0001 0002"), "", from_hex("0003 0004 0005 fffe")}, ragged);
  const TensorColumn column = batch.tensor("mask");
  EXPECT_THAT(column.row_splits, ElementsAre(0, 1, 1, 3));
  EXPECT_THAT(int16s(column.values), ElementsAre(1, 2, 3, 4, 5, -2));
  const SerializedTensor fixed{
      .type = TensorType::int16, .shape = {2}, .encoding = TensorEncoding::little_endian};
  EXPECT_THAT(int16s(parse({from_hex("0100 0200")}, fixed).tensor("mask").values),
              ElementsAre(1, 2));
  const auto reason = [](const std::string& value, const SerializedTensor& schema) {
    return error_of([&] { parse({value}, schema); }).reason();
  };
  EXPECT_THAT(reason("12345", ragged),
              HasSubstr("feature 'mask' holds 5 bytes, not a multiple of 4, as int16[?, 2] has"));
  EXPECT_THAT(reason("12345", fixed), HasSubstr("5 bytes, not 4, as int16[2] has"));
  EXPECT_EQ(ExampleCollator({{"mask", ragged}}).parameters()[0].value,
            "{'mask': big-endian int16[?, 2]}");
}

}  // namespace
}  // namespace recordpipe
