// Tests making records from the arrays of an .npz file, using only the public headers.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/toolkit/json_text.h"
#include "recordpipe/toolkit/numpy.h"

namespace recordpipe {
namespace {

class MemoryFile final : public ByteSink {
 public:
  std::string content;

  void write(std::span<const std::byte> data) override {
    content.append(reinterpret_cast<const char*>(data.data()), data.size());
  }
  void close() override {}
  const std::string& path() const override { return path_; }

 private:
  const std::string path_ = "a.npz";
};

class Stored final : public RandomAccessFile {
 public:
  explicit Stored(std::string content) : content_(std::move(content)) {}

  uint64_t size() const override { return content_.size(); }
  std::span<const std::byte> read(uint64_t offset, size_t size,
                                  std::span<std::byte> /*scratch*/) const override {
    const auto all = std::as_bytes(std::span(content_));
    const size_t begin = std::min<size_t>(offset, all.size());
    return all.subspan(begin, std::min(size, all.size() - begin));
  }
  const std::string& path() const override { return path_; }

 private:
  const std::string content_;
  const std::string path_ = "a.npz";
};

class Read final : public ByteSource {
 public:
  explicit Read(std::string content) : stored_(std::move(content)) {}

  size_t read(std::span<std::byte> out) override {
    const size_t count = stored_.read_at(place_, out);
    place_ += count;
    return count;
  }
  const std::string& path() const override { return stored_.path(); }

 private:
  const Stored stored_;
  size_t place_ = 0;
};

// Returns an .npy file in the byte order of this machine, which must be little-endian.
template <typename Number>
std::string array(const std::string& type, const std::vector<uint64_t>& shape,
                  const std::vector<Number>& values) {
  std::string file = npy_header_text(type, shape);
  file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Number));
  return file;
}

std::string npz(const std::vector<std::pair<std::string, std::string>>& arrays) {
  MemoryFile file;
  NpzWriter writer(file);
  for (const auto& [name, content] : arrays) {
    writer.begin(name, content.size());
    writer.write(std::as_bytes(std::span(content)));
  }
  writer.close();
  return file.content;
}

std::string features_of(NumpyRows& rows, uint64_t row) {
  const std::string record = rows.example(row);
  MessageView message;
  message.read(std::as_bytes(std::span(record)));
  JsonText json;
  json.features(message.features());
  return json.take();
}

TEST(NumpyRows, OfAnArchiveReadAtAnyPlaceOrInOrder) {
  const std::string file = npz({{"label", array<int64_t>("<i8", {2}, {3, -1})},
                                {"box", array<float>("<f4", {2, 2}, {0.5F, 1, 2, 4})}});
  uint64_t bytes = 0;
  const NumpyReadOptions options = {.on_read = [&](uint64_t more) { bytes += more; }};
  for (const bool in_order : {false, true}) {
    const auto rows =
        in_order
            ? open_npz(std::unique_ptr<ByteSource>(std::make_unique<Read>(file)), options)
            : open_npz(std::unique_ptr<RandomAccessFile>(std::make_unique<Stored>(file)), options);
    ASSERT_EQ(rows->count(), 2u);
    EXPECT_EQ(features_of(*rows, 0), R"({"box": [0.5, 1.0], "label": [3]})");
    EXPECT_EQ(features_of(*rows, 1), R"({"box": [2.0, 4.0], "label": [-1]})");
  }
  EXPECT_GE(bytes, file.size());
}

TEST(NumpyRows, OfOneArray) {
  const auto rows =
      open_npy(std::make_unique<Stored>(array<uint8_t>("|u1", {1, 2, 2}, {1, 2, 3, 4})), "image");
  EXPECT_EQ(features_of(*rows, 0), R"({"image": [{"base64": "AQIDBA=="}]})");
}

TEST(NumpyRows, GoTogether) {
  const std::string file =
      npz({{"a", array<int64_t>("<i8", {1}, {3})}, {"b", array<int64_t>("<i8", {2}, {1, 2})}});
  try {
    open_npz(std::unique_ptr<ByteSource>(std::make_unique<Read>(file)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupted);
    EXPECT_STREQ(error.what(), "a.npz:b: 2 rows, where a has 1");
  }
}

TEST(NumpyRows, ErrorsNameTheRow) {
  const auto rows =
      open_npy(std::make_unique<Stored>(array<uint64_t>("<u8", {2}, {1, UINT64_MAX})), "id");
  EXPECT_EQ(features_of(*rows, 0), R"({"id": [1]})");
  try {
    rows->example(1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "a.npz: row 1: 18446744073709551615 is too large for an int64 "
                 "(array.view(numpy.int64) keeps the bits)");
  }
}

}  // namespace
}  // namespace recordpipe
