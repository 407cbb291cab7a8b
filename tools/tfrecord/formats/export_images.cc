// Exports records as a folder of images: encoded images unchanged, raw pixels as PNG. Of the text
// in a record, only letters, digits, -, _ and non-ASCII characters become part of a path.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "recordpipe/error.h"
#include "recordpipe/internal/utf8.h"
#include "recordpipe/toolkit/image_format.h"
#include "recordpipe/toolkit/pixel_guess.h"
#include "tools/tfrecord/formats/export_target.h"
#include "recordpipe/toolkit/usual_features.h"
#include "tools/tfrecord/io/atomic_folder.h"

namespace recordpipe {
namespace {

constexpr size_t kLongestLabel = 80;

std::string sanitized(std::string_view label) {
  std::string name;
  while (!label.empty()) {
    const char c = label.front();
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                          (c >= 'a' && c <= 'z') || c == '-' || c == '_';
    const size_t length = std::max<size_t>(utf8_length(label), 1);
    if (name.size() + length > kLongestLabel) break;
    name += is_plain || length > 1 ? label.substr(0, length) : "_";
    label.remove_prefix(length);
  }
  return name.empty() ? "_" : name;
}

// Assigns a unique folder name to each label.
class LabelFolders {
 public:
  const std::string& of(const std::string& label) {
    const auto [entry, is_new] = names_.try_emplace(label);
    if (is_new) {
      const std::string wanted = sanitized(label);
      std::string name = wanted;
      for (size_t i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}-{}", wanted, i);
      entry->second = std::move(name);
    }
    return entry->second;
  }

 private:
  std::map<std::string, std::string> names_;  // by label
  std::set<std::string> taken_;
};

class ImageFolderTarget final : public ExportTarget {
 public:
  ImageFolderTarget(const CommandContext& context, const TargetOptions& options)
      : files_(context.files),
        progress_(context.progress),
        options_(options),
        pixels_(options.pixels),
        folder_(context.files, options.output) {}

  void write(const ExportedRecord& record) override {
    const uint64_t number = record.number;
    const std::span<const std::byte> image = image_of(record);
    std::string directory = folder_.partial();
    if (const std::string label = label_of(record); !label.empty()) {
      directory += "/" + labels_.of(label);
      files_.make_directories(directory);
    }
    const std::string_view format = image_format(image);
    if (!format.empty()) {
      write_file(fmt::format("{}/{:07}.{}", directory, number, format == "jpeg" ? "jpg" : format),
                 image);
    } else {
      write_file(fmt::format("{}/{:07}.png", directory, number), png_of(record, image));
    }
  }

  void close() override {
    folder_.commit();
    if (!pixels_.is_guess()) return;
    progress_.note(
        fmt::format("tfrecord export: raw pixels taken as {}; --shape and --layout say otherwise",
                    pixels_.how()));
  }

 private:
  [[noreturn]] static void fail(uint64_t number, const std::string& reason,
                                const std::string& hint = "") {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = fmt::format("record {}: {}", number, reason),
                 .hint = hint});
  }

  std::span<const std::byte> image_of(const ExportedRecord& record) const {
    const uint64_t number = record.number;
    const auto value_of = [&](std::string_view name) {
      const FeatureView* const feature = record.message.find_feature(name);
      return feature ? feature->single_bytes() : std::nullopt;
    };
    if (!options_.image.empty()) {
      if (const auto image = value_of(options_.image)) return *image;
      fail(number, "no feature " + printable(options_.image) + " with one value of bytes");
    }
    for (const std::string_view name : kUsualImageFeatures) {
      if (const auto image = value_of(name)) return *image;
    }
    fail(number,
         fmt::format("none of the features {} with one value of bytes",
                     fmt::join(kUsualImageFeatures, ", ")),
         "name the one that holds the image with --image");
  }

  std::string label_of(const ExportedRecord& record) const {
    const auto value_of = [&](std::string_view name) -> std::string {
      const FeatureView* const feature = record.message.find_feature(name);
      if (!feature) return "";
      if (const auto text = feature->single_bytes()) {
        return {reinterpret_cast<const char*>(text->data()), text->size()};
      }
      const auto value = feature->single_int64();
      return value ? std::to_string(*value) : "";
    };
    if (!options_.label.empty()) {
      const std::string label = value_of(options_.label);
      if (label.empty()) {
        fail(record.number, "no feature " + printable(options_.label) + " with one value");
      }
      return label;
    }
    for (const std::string_view name : kUsualLabelFeatures) {
      if (std::string label = value_of(name); !label.empty()) return label;
    }
    return "";
  }

  std::vector<std::byte> png_of(const ExportedRecord& record, std::span<const std::byte> pixels) {
    const auto shape = pixels_.shape_of(record.message, pixels.size());
    if (!shape) {
      fail(record.number, pixels_.misfit(pixels.size()),
           options_.pixels.shape ? "" : "describe raw pixels with --shape HxWxC and --layout");
    }
    return pixels_.png(pixels, *shape);
  }

  void write_file(const std::string& path, std::span<const std::byte> content) {
    const auto file = files_.create(path, CreateMode::truncate);
    file->write(content);
    file->close();
  }

  FileSystem& files_;
  TerminalProgress& progress_;
  const TargetOptions options_;
  PixelGuess pixels_;
  AtomicFolder folder_;
  LabelFolders labels_;
};

}  // namespace

std::unique_ptr<ExportTarget> image_folder_target(const CommandContext& context,
                                                  const TargetOptions& options) {
  return std::make_unique<ImageFolderTarget>(context, options);
}

}  // namespace recordpipe
