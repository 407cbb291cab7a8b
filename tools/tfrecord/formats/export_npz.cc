// Exports records as NumPy arrays. Each feature must have the same number of values in all records.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/example/feature_values.h"
#include "recordpipe/io/temporary_file.h"
#include "recordpipe/toolkit/numpy.h"
#include "tools/tfrecord/formats/export_target.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

constexpr size_t kNpzBufferSize = size_t{256} << 10;
// All strings in an array are padded to the longest. An array is refused if its padded size exceeds
// the first limit, and the ratio of its padded to its unpadded size exceeds the second.
constexpr uint64_t kMaxPadded = uint64_t{64} << 20;
constexpr uint64_t kMaxPaddedTimes = 16;

// Properties of a feature, known after the first pass over all records.
struct Column {
  FeatureKind kind = FeatureKind::none;
  size_t values = 0;    // per record
  size_t shortest = 0;  // bytes
  size_t longest = 0;   // bytes
  bool ends_with_nul = false;
  uint64_t bytes = 0;  // total of all values of all records
  uint64_t records = 0;

  bool same_length() const { return shortest == longest; }
  size_t item_size() const {
    return kind == FeatureKind::floats ? 4 : kind == FeatureKind::int64s ? 8 : longest;
  }
};

// Buffers of all columns together, before they go to the temporary file.
constexpr size_t kAllBuffers = size_t{64} << 20;
constexpr size_t kLargestBuffer = size_t{16} << 10;
constexpr size_t kMinBuffer = 256;

// Stores a column's rows until they are written to the archive, in a temporary file that all
// columns share: there may be more of them than files can be open.
class Rows {
 public:
  // `columns`: that share `file`, which must live longer.
  Rows(TemporaryFile& file, size_t columns)
      : file_(file),
        flush_size_(
            std::clamp(kAllBuffers / std::max<size_t>(1, columns), kMinBuffer, kLargestBuffer)) {}

  void append(std::span<const std::byte> data) {
    if (data.size() >= flush_size_) {
      flush();
      store(data);
      return;
    }
    buffer_.append(reinterpret_cast<const char*>(data.data()), data.size());
    if (buffer_.size() >= flush_size_) flush();
  }
  void append_zeros(size_t count) {
    constexpr std::array<std::byte, 1024> kZeros = {};
    for (; count > kZeros.size(); count -= kZeros.size()) append(kZeros);
    append(std::span(kZeros).first(count));
  }
  template <typename Write>
  void read_all(Write write) {
    flush();
    std::vector<std::byte> part;
    for (auto [at, left] : parts_) {
      for (; left > 0; at += part.size(), left -= part.size()) {
        part.resize(std::min<uint64_t>(kNpzBufferSize, left));
        file_.read_at(at, part);
        write(std::span<const std::byte>(part));
      }
    }
  }

 private:
  struct Part {
    uint64_t begin = 0;
    uint64_t size = 0;
  };

  void flush() {
    store(std::as_bytes(std::span(buffer_)));
    buffer_.clear();
  }
  void store(std::span<const std::byte> data) {
    if (data.empty()) return;
    const bool follows =
        !parts_.empty() && parts_.back().begin + parts_.back().size == file_.size();
    if (!follows) parts_.push_back({.begin = file_.size()});
    parts_.back().size += data.size();
    file_.append(data);
  }

  TemporaryFile& file_;
  const size_t flush_size_;
  std::vector<Part> parts_;  // of the file
  std::string buffer_;
};

class NpzTarget final : public ExportTarget {
 public:
  NpzTarget(const CommandContext& context, const TargetOptions& options)
      : progress_(context.progress), output_(context, options.output), options_(options) {}

  bool looks_first() const override { return true; }

  void look(const ExportedRecord& record) override {
    require_example(record);
    ++records_;
    for (const NamedFeature& named : record.message.features()) look_at(record.number, named);
  }

  void end_look(const FeatureNames& /*selected*/) override {
    for (const auto& [name, column] : columns_) {
      if (column.records != records_) fail(name, "is not in every record");
      if (column.kind == FeatureKind::none) fail(name, "has no values");
      if (column.kind == FeatureKind::bytes && !column.same_length() && column.ends_with_nul) {
        fail(name,
             "has bytes of several lengths, and some end with 0, which strings of NumPy can't");
      }
      if (column.kind == FeatureKind::bytes) require_not_mostly_padding(name, column);
      if (name.empty() || name.front() == '/' || name.find("..") != name.npos) {
        fail(name, "has a name that would lead out of a folder");
      }
    }
    file_.emplace(options_.temporary_directory);
    for (const auto& [name, column] : columns_) {
      rows_.emplace(name, Rows(*file_, columns_.size()));
    }
    require_shape_used();
  }

  void write(const ExportedRecord& record) override {
    require_example(record);
    for (auto& [name, rows] : rows_) {
      const FeatureView* const feature = record.message.find_feature(name);
      if (!feature) fail(name, "was changed while it was read");
      append(*feature, columns_.at(name), rows);
    }
  }

  void close() override {
    if (columns_.empty() && records_ > 0) {
      throw Error({.kind = ErrorKind::unsupported,
                   .reason = "records without features, which an .npz file without arrays can't "
                             "represent",
                   .hint = "export to JSON lines"});
    }
    NpzWriter zip(output_);
    for (auto& [name, rows] : rows_) {
      const Column& column = columns_.at(name);
      const std::string header = npy_header_text(type_of(column), shape_of(name, column));
      zip.begin(name, header.size() + records_ * column.values * column.item_size());
      zip.write(std::as_bytes(std::span(header)));
      rows.read_all([&](std::span<const std::byte> part) { zip.write(part); });
    }
    zip.close();
    output_.close();
    if (assumes_layout_) {
      progress_.note(
          "tfrecord export: raw pixels are assumed to be interleaved (hwc); --layout changes this");
    }
  }

 private:
  [[noreturn]] static void fail(const std::string& name, const std::string& reason) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "feature " + printable(name) + " " + reason,
                 .hint = "choose others with --select, or export to JSON lines"});
  }

  void look_at(uint64_t number, const NamedFeature& named) {
    const FeatureView& feature = named.feature;
    auto found = columns_.find(named.name);
    if (found == columns_.end()) {
      found = columns_.emplace(std::string(named.name), Column()).first;
      found->second.kind = feature.kind();
      found->second.values = feature.size();
      found->second.shortest = SIZE_MAX;
    }
    Column& column = found->second;
    ++column.records;
    if (feature.kind() != column.kind) fail(found->first, "is of several kinds");
    if (feature.size() != column.values) {
      fail(found->first, "has " + std::to_string(feature.size()) + " values in record " +
                             std::to_string(number) + " and " + std::to_string(column.values) +
                             " before");
    }
    for_each_value<FeatureKind::bytes>(feature, [&](std::span<const std::byte> value) {
      column.shortest = std::min(column.shortest, value.size());
      column.longest = std::max(column.longest, value.size());
      column.bytes += value.size();
      column.ends_with_nul |= !value.empty() && value.back() == std::byte{0};
    });
  }

  bool are_pixels(const std::string& name, const Column& column) const {
    return options_.pixels.shape && column.kind == FeatureKind::bytes && column.same_length() &&
           column.values == 1 && column.longest == options_.pixels.shape->bytes() &&
           (options_.image.empty() || options_.image == name);
  }

  void require_shape_used() const {
    if (!options_.pixels.shape || columns_.empty()) return;
    const bool is_used = std::ranges::any_of(
        columns_, [&](const auto& entry) { return are_pixels(entry.first, entry.second); });
    if (is_used) return;
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "no feature has the " + byte_count(options_.pixels.shape->bytes()) +
                           " of --shape in every record",
                 .hint = "tfrecord stats shows how many each has"});
  }

  void require_not_mostly_padding(const std::string& name, const Column& column) const {
    const uint64_t padded = records_ * column.values * column.longest;
    if (padded <= kMaxPadded || padded / kMaxPaddedTimes <= column.bytes) return;
    fail(name, "has values of up to " + byte_count(column.longest) +
                   ", which all the others would be padded to: " + byte_count(padded) + " for " +
                   byte_count(column.bytes));
  }

  static std::string type_of(const Column& column) {
    if (column.kind == FeatureKind::floats) return "<f4";
    if (column.kind == FeatureKind::int64s) return "<i8";
    return column.same_length() ? "|u1" : "|S" + std::to_string(column.longest);
  }

  std::vector<uint64_t> shape_of(const std::string& name, const Column& column) {
    std::vector<uint64_t> shape = {records_};
    const bool is_pixels = column.kind == FeatureKind::bytes && column.same_length();
    if (are_pixels(name, column)) {
      const auto [height, width, channels] = *options_.pixels.shape;
      assumes_layout_ = assumes_layout_ || (!options_.pixels.layout && channels > 1);
      if (options_.pixels.layout == PixelLayout::planar) return {records_, channels, height, width};
      return {records_, height, width, channels};
    }
    // uint8 arrays have two dimensions per row, so that `create` converts them to bytes again.
    if (column.values != 1 || is_pixels) shape.push_back(column.values);
    if (is_pixels) shape.push_back(column.longest);
    return shape;
  }

  static void append(const FeatureView& feature, const Column& column, Rows& rows) {
    for_each_value<FeatureKind::bytes>(feature, [&](std::span<const std::byte> value) {
      rows.append(value);
      rows.append_zeros(column.longest - std::min(column.longest, value.size()));
    });
    for_each_value<FeatureKind::int64s>(feature, [&](int64_t value) {
      std::byte bytes[sizeof(value)];
      store_little_endian(static_cast<uint64_t>(value), bytes);
      rows.append(bytes);
    });
    for_each_value<FeatureKind::floats>(feature, [&](float value) {
      std::byte bytes[sizeof(value)];
      store_little_endian(std::bit_cast<uint32_t>(value), bytes);
      rows.append(bytes);
    });
  }

  TerminalProgress& progress_;
  Output output_;
  const TargetOptions options_;
  uint64_t records_ = 0;
  bool assumes_layout_ = false;  // whether the layout of shaped pixels is assumed
  std::map<std::string, Column, std::less<>> columns_;
  std::optional<TemporaryFile> file_;  // of all rows
  std::map<std::string, Rows, std::less<>> rows_;
};

}  // namespace

std::unique_ptr<ExportTarget> npz_target(const CommandContext& context,
                                         const TargetOptions& options) {
  return std::make_unique<NpzTarget>(context, options);
}

}  // namespace recordpipe
