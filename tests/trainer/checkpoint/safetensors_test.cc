#include "recordpipe/trainer/checkpoint/safetensors.h"

#include <cstring>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

std::string length_of(uint64_t size) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &size, 8);
  return bytes;
}

class Safetensors : public testing::Test {
 protected:
  // Writes a file with this header and `data_size` bytes of data, and returns its path.
  const std::string& file(const std::string& header, size_t data_size) {
    write_file(path, length_of(header.size()) + header + std::string(data_size, '\1'));
    return path;
  }

  Error error_for(const std::string& header, size_t data_size = 0) {
    file(header, data_size);
    return error_of([&] { SafetensorsReader(posix_file_system(), path); });
  }

  TemporaryDirectory directory;
  const std::string path = directory / "a.safetensors";
};

SafetensorsTensor floats(const std::vector<size_t>& shape, const std::vector<float>& values) {
  return SafetensorsTensor::floats(shape, values);
}

TEST_F(Safetensors, AreReadBackAsTheyWereWritten) {
  write_safetensors(posix_file_system(), path,
                    {{"b/weights", floats({2, 3}, {1, 2, 3, 4, 5, 6.5})},
                     {"a \"quoted\" \u00e4", floats({1}, {-0.0f})},
                     {"scalar", floats({}, {7})},
                     {"empty", floats({0, 4}, {})}},
                    {{"step", "12"}, {"note", "x"}});
  const SafetensorsReader reader(posix_file_system(), path);
  EXPECT_THAT(reader.metadata(), UnorderedElementsAre(Pair("step", "12"), Pair("note", "x")));
  EXPECT_EQ(reader.tensors().size(), 4u);
  EXPECT_THAT(reader.read_floats("b/weights", std::vector<size_t>{2, 3}),
              ElementsAre(1, 2, 3, 4, 5, 6.5));
  EXPECT_THAT(reader.read_floats("scalar", {}), ElementsAre(7));
  EXPECT_THAT(reader.read_floats("empty", std::vector<size_t>{0, 4}), ElementsAre());
}

// The bytes described in the format's documentation, readable by any safetensors reader.
TEST_F(Safetensors, HaveTheDocumentedBytes) {
  write_safetensors(posix_file_system(), path, {{"x", floats({2}, {1, 2})}}, {{"step", "3"}});
  std::string header =
      R"({"__metadata__":{"step":"3"},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(read_file(path),
            length_of(header.size()) + header + from_hex("00 00 80 3f 00 00 00 40"));
}

// Tensors of bytes come last, whatever their names, so that all values are aligned to their size.
TEST_F(Safetensors, KeepNumbersAligned) {
  write_safetensors(posix_file_system(), path,
                    {{"a", SafetensorsTensor::bytes("xyz")}, {"b", floats({1}, {1})}}, {});
  const SafetensorsReader reader(posix_file_system(), path);
  EXPECT_EQ(as_text(reader.tensors().at("a").data), "xyz");
  EXPECT_EQ(reader.tensors().at("a").dtype, "U8");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(reader.tensors().at("b").data.data()) % 8, 0u);
  EXPECT_EQ(reader.read_floats("b", std::vector<size_t>{1})[0], 1);
}

TEST_F(Safetensors, MayHoldOtherTypesInAnyOrder) {
  file(R"( {"b":{"shape":[3],"data_offsets":[4,7],"dtype":"U8"},)"
       R"("a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}   )",
       7);
  EXPECT_THAT(error_of([&] { SafetensorsReader(posix_file_system(), path); }).reason(),
              HasSubstr("doesn't start with {"));
  file(R"({"b":{"shape":[3],"data_offsets":[4,7],"dtype":"U8"},)"
       R"("a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}   )",
       7);
  const SafetensorsReader reader(posix_file_system(), path);
  EXPECT_EQ(reader.tensors().at("b").data.size(), 3u);
  EXPECT_EQ(error_of([&] { reader.read_floats("b", std::vector<size_t>{3}); }).kind(),
            ErrorKind::unsupported);
  EXPECT_EQ(error_of([&] { reader.read_floats("a", std::vector<size_t>{1}); }).kind(),
            ErrorKind::invalid_argument);
  EXPECT_EQ(error_of([&] { reader.read_floats("c", std::vector<size_t>{1}); }).kind(),
            ErrorKind::not_found);
}

TEST_F(Safetensors, OfTheOfficialPackageAreRead) {
  const SafetensorsReader reader(posix_file_system(),
                                 RECORDPIPE_DATA_DIR "/safetensors/official.safetensors");
  EXPECT_THAT(reader.metadata(), ElementsAre(Pair("step", "12")));
  std::vector<float> weights(18);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i) / 4;
  EXPECT_EQ(reader.read_floats("conv/weights", std::vector<size_t>{2, 1, 3, 3}), weights);
  EXPECT_EQ(reader.tensors().at("step").dtype, "I64");
  EXPECT_EQ(as_text(reader.tensors().at("step").data), std::string("\x0c\0\0\0\0\0\0\0", 8));
  EXPECT_THAT(reader.tensors().at("mask").shape, ElementsAre(2, 2));
  EXPECT_EQ(reader.tensors().at("half").data.size(), 4u);
  EXPECT_EQ(reader.tensors().at("empty").data.size(), 0u);
}

TEST_F(Safetensors, CutAnywhereAreRefused) {
  write_safetensors(posix_file_system(), path, {{"x", floats({2}, {1, 2})}}, {});
  const std::string whole = read_file(path);
  for (size_t size = 0; size < whole.size(); ++size) {
    write_file(path, whole.substr(0, size));
    const Error error = error_of([&] { SafetensorsReader(posix_file_system(), path); });
    EXPECT_EQ(error.kind(), ErrorKind::truncated) << size << ": " << error.what();
    EXPECT_EQ(error.path(), path);
  }
}

TEST_F(Safetensors, CutWhileTheyAreReadAreRefused) {
  write_safetensors(posix_file_system(), path,
                    {{"x", floats({100'000}, std::vector<float>(100'000))}}, {});
  const SafetensorsReader reader(posix_file_system(), path);
  std::filesystem::resize_file(path, 5000);
  EXPECT_EQ(error_of([&] { reader.read_floats("x", std::vector<size_t>{100'000}); }).kind(),
            ErrorKind::io);
}

TEST_F(Safetensors, WithABadLengthAreRefused) {
  for (const uint64_t length : {uint64_t{100'000'001}, UINT64_MAX, uint64_t{1} << 63}) {
    write_file(path, length_of(length) + "{}");
    EXPECT_EQ(error_of([&] { SafetensorsReader(posix_file_system(), path); }).kind(),
              ErrorKind::corrupted)
        << length;
  }
  write_file(path, length_of(3) + "{}");
  EXPECT_EQ(error_of([&] { SafetensorsReader(posix_file_system(), path); }).kind(),
            ErrorKind::truncated);
}

TEST_F(Safetensors, WithABadHeaderAreRefused) {
  const std::string good = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  std::string ones;
  for (size_t more = 0; more < safetensors_dimension_limit; ++more) ones += ",1";
  for (const std::string& header : {
           std::string(""),                                      //
           std::string("{"),                                     //
           std::string("{}x"),                                   //
           std::string("[]"),                                    //
           std::string("{\"x\":"),                               //
           R"({"x":)" + good + R"(,"x":)" + good + "}",          // twice
           std::string(R"({"x":{"dtype":"F32","shape":[1]}})"),  // no offsets
           std::string(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0]}})"),
           std::string(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}})"),
           std::string(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}})"),
           std::string(R"({"x":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})"),
           std::string(R"({"x":{"dtype":4,"shape":[1],"data_offsets":[0,4]}})"),
           std::string(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})"),
           std::string(R"({"x":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})"),
           std::string(R"({"x":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})"),
           std::string(R"({"x":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})"),
           std::string(R"({"x":{"dtype":"F32","shape":[99999999999999999999],)"
                       R"("data_offsets":[0,4]}})"),
           std::string(R"({"x":[0,4]})"),                         //
           std::string(R"({"x":null})"),                          //
           std::string(R"({"__metadata__":{"a":1}})"),            //
           std::string(R"({"__metadata__":{"a":{"b":"c"}}})"),    //
           std::string(R"({"__metadata__":{"a":"b","a":"c"}})"),  //
           std::string("{\"\xff\":" + good + "}"),                // not UTF-8
           "{\"" + std::string(100'000, 'a') + "\":[]}",          // a long name
           "{\"" + std::string(100'000, 'a') + "\":{\"b\":1}}",   //
           "{\"" + std::string(100'000, 'a') + "\":" + good.substr(0, good.size() - 2) + "8]}}",
           "{\"x\":" + std::string(100'000, '['),  // deep
           // too many dimensions and offsets
           R"({"x":{"dtype":"F32","data_offsets":[0,4],"shape":[1)" + ones + "]}}",
           R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4)" + ones + "]}}",
           "{\"x\":" + std::string(100'000, '{'),
       }) {
    const Error error = error_for(header, 4);
    EXPECT_EQ(error.kind(), ErrorKind::corrupted) << header.substr(0, 80) << ": " << error.what();
    EXPECT_LT(std::string(error.what()).size(), 400u);
  }
}

TEST_F(Safetensors, OfTextThatIsNotUtf8AreNotWritten) {
  for (const SafetensorsMetadata& metadata :
       {SafetensorsMetadata{{"setting:a", "\xff"}}, SafetensorsMetadata{{"\xff", "a"}}}) {
    const Error error =
        error_of([&] { write_safetensors(posix_file_system(), path, {}, metadata); });
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_FALSE(posix_file_system().status(path));
  }
}

TEST_F(Safetensors, WithTensorsThatDoNotFitAreRefused) {
  struct Case {
    const char* header;
    size_t data_size;
    ErrorKind kind;
  };
  for (const auto& [header, data_size, kind] : {
           // Overlapping, with a gap, reversed, in the wrong place.
           Case{R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                R"("y":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                6, ErrorKind::corrupted},
           Case{R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                R"("y":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                4, ErrorKind::corrupted},
           Case{R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                R"("y":{"dtype":"U8","shape":[2],"data_offsets":[6,8]}})",
                8, ErrorKind::corrupted},
           Case{R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", 8,
                ErrorKind::corrupted},
           Case{R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", 4,
                ErrorKind::corrupted},
           // Bytes after the last tensor, or without any tensor.
           Case{R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 5,
                ErrorKind::corrupted},
           Case{"{}", 1, ErrorKind::corrupted},
           // Shapes whose size doesn't match, because they are wrong or too large.
           Case{R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
                ErrorKind::corrupted},
           Case{R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
                ErrorKind::corrupted},
           Case{R"({"x":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})", 4,
                ErrorKind::corrupted},
           // Larger than the file.
           Case{R"({"x":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4000000000000]}})",
                4, ErrorKind::truncated},
           Case{R"({"x":{"dtype":"Q7","shape":[4],"data_offsets":[0,4]}})", 4,
                ErrorKind::unsupported},
       }) {
    EXPECT_EQ(error_for(header, data_size).kind(), kind) << header;
  }
}

TEST_F(Safetensors, ThatAreNotThereAreRefused) {
  EXPECT_EQ(error_of([&] { SafetensorsReader(posix_file_system(), path); }).kind(),
            ErrorKind::not_found);
  EXPECT_THROW(SafetensorsReader(posix_file_system(), directory.path()), Error) << "a folder";
}

}  // namespace
}  // namespace recordpipe
