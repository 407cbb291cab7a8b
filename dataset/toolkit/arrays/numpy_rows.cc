#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/names_in_words.h"
#include "dataset/example/nearest_float.h"
#include "dataset/example/wire_writer.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/utf8.h"
#include "recordpipe/base/parameter.h"
#include "recordpipe/example/internal/feature_writer.h"
#include "recordpipe/example/internal/wire_reader.h"
#include "recordpipe/image/half.h"
#include "recordpipe/toolkit/numpy.h"

namespace recordpipe {
namespace {

class NpyRows final : public NumpyRows {
 public:
  NpyRows(std::unique_ptr<RandomAccessFile> file, std::string name, const NumpyReadOptions& options)
      : file_(std::move(file)), name_(std::move(name)), on_read_(options.on_read) {
    if (!is_utf8(name_)) {
      throw Error({.kind = ErrorKind::invalid_argument,
                   .path = file_->path(),
                   .reason = "a name that is not UTF-8, as the name of the feature must be",
                   .hint = "rename the file"});
    }
    std::vector<std::byte> head(kMaxNpyHeader);
    head.resize(file_->read_at(0, head));
    try {
      header_ = parse_npy_header(head);
    } catch (const Error& error) {
      throw Error({.kind = error.kind(),
                   .path = file_->path(),
                   .reason = error.reason(),
                   .hint = error.hint()});
    }
    const uint64_t size = count() == 0 ? 0 : count() * header_.row_bytes();
    if (file_->size() != header_.data_begin + size) {
      const bool is_short = file_->size() < header_.data_begin + size;
      throw Error({.kind = is_short ? ErrorKind::truncated : ErrorKind::corrupted,
                   .path = file_->path(),
                   .reason = is_short ? "shorter than its header specifies"
                                      : "longer than its header specifies"});
    }
  }

  const std::string& path() const override { return file_->path(); }
  uint64_t count() const override { return header_.rows(); }

 private:
  SerializedFeatures row(uint64_t i) override {
    std::vector<std::byte> values(header_.row_bytes());
    if (file_->read_at(header_.data_begin + i * values.size(), values) != values.size()) {
      throw Error({.kind = ErrorKind::truncated,
                   .path = file_->path(),
                   .reason = "was truncated while it was read"});
    }
    if (on_read_) on_read_(values.size());
    SerializedFeatures features;
    features.emplace(name_, npy_row_feature(header_, values));
    return features;
  }

  std::unique_ptr<RandomAccessFile> file_;
  const std::string name_;
  const std::function<void(uint64_t)> on_read_;
  NpyHeader header_;
};

class NpzRows final : public NumpyRows {
 public:
  NpzRows(std::string path, std::vector<NpzArray> arrays)
      : path_(std::move(path)), arrays_(std::move(arrays)) {
    for (const NpzArray& array : arrays_) {
      if (array.header.rows() == count()) continue;
      throw Error({.kind = ErrorKind::corrupted,
                   .path = path_ + ":" + array.name,
                   .reason = counted(array.header.rows(), "row") + ", where " +
                             arrays_.front().name + " has " + grouped(count())});
    }
  }

  const std::string& path() const override { return path_; }
  uint64_t count() const override { return arrays_.empty() ? 0 : arrays_.front().header.rows(); }

 private:
  SerializedFeatures row(uint64_t i) override {
    SerializedFeatures features;
    for (const NpzArray& array : arrays_) features.emplace(array.name, feature_of(array, i));
    return features;
  }

  std::string feature_of(const NpzArray& array, uint64_t i) const {
    std::vector<std::byte> values(array.header.row_bytes());
    array.values->read_at(array.begin + i * values.size(), values);
    try {
      return npy_row_feature(array.header, values);
    } catch (const Error& error) {
      throw Error({.kind = error.kind(),
                   .path = path_ + ":" + array.name,
                   .reason = error.reason(),
                   .hint = error.hint()});
    }
  }

  const std::string path_;
  std::vector<NpzArray> arrays_;
};

}  // namespace

std::string NumpyRows::example(uint64_t i) {
  try {
    std::string record;
    append_feature_map(kExampleFeatures, row(i), record);
    return record;
  } catch (const Error& error) {
    throw Error({.kind = error.kind(),
                 .path = error.path().empty() ? path() : error.path(),
                 .reason = "row " + std::to_string(i) + ": " + error.reason(),
                 .hint = error.hint()});
  }
}

std::unique_ptr<NumpyRows> open_npy(std::unique_ptr<RandomAccessFile> file, const std::string& name,
                                    const NumpyReadOptions& options) {
  return std::make_unique<NpyRows>(std::move(file), name, options);
}

std::unique_ptr<NumpyRows> open_npz(std::unique_ptr<RandomAccessFile> file,
                                    const NumpyReadOptions& options) {
  const std::string path = file->path();
  return std::make_unique<NpzRows>(path, read_npz(std::move(file), options));
}

std::unique_ptr<NumpyRows> open_npz(std::unique_ptr<ByteSource> source,
                                    const NumpyReadOptions& options) {
  const std::string path = source->path();
  return std::make_unique<NpzRows>(path, read_npz(std::move(source), options));
}

namespace {

uint64_t load_bits(const NpyHeader& header, const std::byte* from) {
  uint64_t bits = 0;
  for (size_t i = 0; i < header.item_size; ++i) {
    const size_t place = header.big_endian ? i : header.item_size - 1 - i;
    bits = bits << 8 | std::to_integer<uint64_t>(from[place]);
  }
  return bits;
}

int64_t load_integer(const NpyHeader& header, const std::byte* from) {
  const uint64_t bits = load_bits(header, from);
  if (header.kind == 'b') return bits != 0;
  const int unused = static_cast<int>(64 - 8 * header.item_size);
  if (header.kind == 'i') return static_cast<int64_t>(bits << unused) >> unused;
  if (bits > static_cast<uint64_t>(INT64_MAX)) {
    throw Error({.kind = ErrorKind::corrupted,
                 .reason = std::to_string(bits) + " is too large for an int64",
                 .hint = "array.view(numpy.int64) keeps the bits"});
  }
  return static_cast<int64_t>(bits);
}

float load_float_value(const NpyHeader& header, const std::byte* from) {
  const uint64_t bits = load_bits(header, from);
  if (header.item_size == 2) return to_float(Float16{static_cast<uint16_t>(bits)});
  if (header.item_size == 4) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  const auto wide = std::bit_cast<double>(bits);
  if (const auto value = nearest_float(wide)) return *value;
  throw Error({.kind = ErrorKind::unsupported,
               .reason = out_of_float_range(shortest_text(wide)),
               .hint = "scale the array, or convert it with astype(numpy.float32)"});
}

void append_utf8(uint64_t code, std::string& out) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
    throw Error({.kind = ErrorKind::corrupted, .reason = "text that is not valid Unicode"});
  }
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned char kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kFirst[more] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
}

std::string load_string(const NpyHeader& header, const std::byte* from) {
  std::string text;
  if (header.kind == 'S') {
    text.assign(reinterpret_cast<const char*>(from), header.item_size);
  } else {
    NpyHeader character = header;
    character.item_size = 4;
    for (size_t i = 0; i < header.item_size; i += 4) {
      append_utf8(load_bits(character, from + i), text);
    }
  }
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

std::string strings_feature(const NpyHeader& header, std::span<const std::byte> row) {
  std::vector<std::string> strings;
  for (uint64_t i = 0; i < header.row_values(); ++i) {
    strings.push_back(load_string(header, row.data() + i * header.item_size));
  }
  std::vector<std::span<const std::byte>> spans;
  for (const std::string& string : strings) spans.push_back(std::as_bytes(std::span(string)));
  return bytes_feature(spans);
}

}  // namespace

std::string npy_row_feature(const NpyHeader& header, std::span<const std::byte> row) {
  if (header.kind == 'u' && header.item_size == 1 && header.shape.size() > 2) {
    return bytes_feature(std::span(&row, 1));
  }
  if (header.kind == 'S' || header.kind == 'U') return strings_feature(header, row);
  const auto place = [&](size_t i) { return row.data() + i * header.item_size; };
  if (header.kind == 'f') {
    return floats_feature_of(header.row_values(),
                             [&](size_t i) { return load_float_value(header, place(i)); });
  }
  return int64s_feature_of(header.row_values(),
                           [&](size_t i) { return load_integer(header, place(i)); });
}

}  // namespace recordpipe
