// Examples made of NumPy's arrays: row i of every array is record i.
#include <utility>

#include "recordpipe/error.h"
#include "recordpipe/http/url.h"
#include "recordpipe/internal/example/feature_writer.h"
#include "recordpipe/internal/example/wire_format.h"
#include "recordpipe/stop.h"
#include "tools/tfrecord/formats/example_source.h"
#include "tools/tfrecord/formats/npy_format.h"
#include "tools/tfrecord/formats/npz_reader.h"

namespace recordpipe {
namespace {

std::string base_name(const std::string& given) {
  const std::string_view path = without_query(given);
  const size_t begin = path.find_last_of('/') + 1;  // npos + 1 is 0
  return std::string(path.substr(begin, path.rfind('.') - begin));
}

// The arrays of one input, whose rows go together.
class Rows {
 public:
  virtual ~Rows() = default;
  // What messages call it.
  virtual const std::string& path() const = 0;
  virtual uint64_t count() const = 0;
  // Nothing of it is kept: a row may be the largest thing in memory.
  virtual SerializedFeatures row(uint64_t i) = 0;
};

class NpyRows final : public Rows {
 public:
  NpyRows(FileSystem& files, const std::string& path, InputProgress& progress)
      : file_(files.open_random(path)), name_(base_name(path)), progress_(progress) {
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
                   .reason = is_short ? "it is shorter than its header says"
                                      : "it is longer than its header says"});
    }
  }

  const std::string& path() const override { return file_->path(); }
  uint64_t count() const override { return header_.rows(); }

  SerializedFeatures row(uint64_t i) override {
    std::vector<std::byte> values(header_.row_bytes());
    if (file_->read_at(header_.data_begin + i * values.size(), values) != values.size()) {
      throw Error({.kind = ErrorKind::truncated,
                   .path = file_->path(),
                   .reason = "was cut while it was read"});
    }
    progress_.add(values.size());
    SerializedFeatures features;
    features.emplace(name_, npy_row_feature(header_, values));
    return features;
  }

 private:
  std::unique_ptr<RandomAccessFile> file_;
  std::string name_;
  InputProgress& progress_;
  NpyHeader header_;
};

class NpzRows final : public Rows {
 public:
  NpzRows(const CommandContext& context, const std::string& path, const std::string& directory,
          InputProgress& progress)
      : path_(is_http_url(path) ? HttpUrl(path).shown() : path),
        arrays_(read_npz(context, path, directory, progress)) {
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

  SerializedFeatures row(uint64_t i) override {
    SerializedFeatures features;
    for (const NpzArray& array : arrays_) features.emplace(array.name, feature_of(array, i));
    return features;
  }

 private:
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

class NumpySource final : public ExampleSource {
 public:
  NumpySource(const CommandContext& context, std::vector<std::string> paths, std::string directory)
      : context_(context), paths_(std::move(paths)), directory_(std::move(directory)) {}

  void run(const Consume& consume) override {
    InputProgress progress(context_, "create", paths_);
    for (const std::string& path : paths_) {
      const auto rows = open(path, progress);
      for (uint64_t i = 0; i < rows->count(); ++i) {
        throw_if_stopped(context_.stop, rows->path());
        const std::string record = record_of(*rows, i);
        consume(std::as_bytes(std::span(record)));
      }
    }
  }

 private:
  std::unique_ptr<Rows> open(const std::string& path, InputProgress& progress) const {
    if (without_query(path).ends_with(".npz")) {
      return std::make_unique<NpzRows>(context_, path, directory_, progress);
    }
    return std::make_unique<NpyRows>(context_.files, path, progress);
  }

  static std::string record_of(Rows& rows, uint64_t i) {
    try {
      std::string record;
      append_feature_map(kExampleFeatures, rows.row(i), record);
      return record;
    } catch (const Error& error) {
      throw Error({.kind = error.kind(),
                   .path = error.path().empty() ? rows.path() : error.path(),
                   .reason = "row " + std::to_string(i) + ": " + error.reason(),
                   .hint = error.hint()});
    }
  }

  const CommandContext& context_;
  const std::vector<std::string> paths_;
  const std::string directory_;
};

}  // namespace

std::unique_ptr<ExampleSource> numpy_source(const CommandContext& context,
                                            std::vector<std::string> paths,
                                            const SourceOptions& options) {
  return std::make_unique<NumpySource>(context, std::move(paths), options.temporary_directory);
}

}  // namespace recordpipe
