#include "recordpipe/toolkit/numpy_rows.h"

#include <span>
#include <utility>
#include <vector>

#include "recordpipe/error.h"
#include "recordpipe/internal/example/wire_format.h"

namespace recordpipe {
namespace {

class NpyRows final : public NumpyRows {
 public:
  NpyRows(std::unique_ptr<RandomAccessFile> file, std::string name, const NumpyReadOptions& options)
      : file_(std::move(file)), name_(std::move(name)), on_read_(options.on_read) {
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
                   .reason = std::to_string(array.header.rows()) + " rows, where " +
                             arrays_.front().name + " has " + std::to_string(count())});
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
    array.values.read_at(i * values.size(), values);
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

}  // namespace recordpipe
