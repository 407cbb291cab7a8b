// Exports records as a folder of images, as torchvision's ImageFolder expects it: encoded images
// unchanged, raw pixels as PNG. Of the text in a record, only letters, digits, -, _ and non-ASCII
// characters become part of a path.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "dataset/toolkit/formats/json_value.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/utf8.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/toolkit/image_format.h"
#include "recordpipe/toolkit/pixel_guess.h"
#include "recordpipe/toolkit/usual_features.h"
#include "tools/tfrecord/formats/export_target.h"
#include "tools/tfrecord/io/atomic_folder.h"
#include "tools/tfrecord/io/text_input.h"

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

// A class: what a record says, and what it is called.
struct Label {
  std::string value = {};  // empty: none
  std::string name = {};
  bool is_number = false;  // a whole number that has no name
};

// Assigns a unique folder name to each label.
class LabelFolders {
 public:
  const std::string& of(const Label& label) {
    const auto [entry, is_new] = names_.try_emplace(label.value);
    if (is_new) {
      const std::string wanted = sanitized(label.name);
      std::string name = wanted;
      for (size_t i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}-{}", wanted, i);
      entry->second = std::move(name);
      longest_ = std::max(longest_, entry->second.size());
      all_numbers_ = all_numbers_ && label.is_number;
    }
    return entry->second;
  }

  // If all labels are numbers, calls rename(from, to) for those with fewer digits than others: the
  // order of the names is then that of the numbers.
  template <class Rename>
  void align_numbers(const Rename& rename) const {
    if (!all_numbers_) return;
    for (const auto& [value, name] : names_) {
      if (name.size() < longest_) rename(name, std::string(longest_ - name.size(), '0') + name);
    }
  }

 private:
  std::map<std::string, std::string> names_;  // by value
  std::set<std::string> taken_;
  size_t longest_ = 0;
  bool all_numbers_ = true;
};

// The last part of a path in a record, without its ending.
std::string_view stem_of(std::string_view path) {
  path.remove_prefix(std::min(path.find_last_of("/\\") + 1, path.size()));
  return path.substr(0, path.rfind('.'));
}

// The format of an image file whose base64 text this is, possibly in a data: URL; otherwise empty.
std::string_view format_in_base64(std::span<const std::byte> bytes) {
  constexpr size_t kStart = 64;  // of the text; enough for image_format()
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("data:")) text.remove_prefix(std::min(text.find(',') + 1, text.size()));
  std::string start(text.substr(0, kStart));
  std::ranges::replace(start, '-', '+');  // as in URLs
  std::ranges::replace(start, '_', '/');
  if (start.size() < kStart) return {};
  try {
    const std::string file = decode_base64(start);
    return image_format(std::as_bytes(std::span(file)));
  } catch (const Error&) {
    return {};
  }
}

class ImageFolderTarget final : public ExportTarget {
 public:
  ImageFolderTarget(const CommandContext& context, const TargetOptions& options)
      : files_(context.files),
        progress_(context.progress),
        options_(options),
        pixels_(options.pixels),
        names_(options.labels.empty() ? std::vector<std::string>()
                                      : lines_of_file(context.files, options.labels)),
        folder_(context.files, options.output) {}

  void write(const ExportedRecord& record) override {
    const MessageView& message = record.message;
    if (message.kind() == MessageKind::event || !message.undecided().empty()) {
      require_example(record);
    }
    const std::span<const std::byte> image = image_of(record);
    std::string directory = folder_.partial();
    if (const Label label = label_of(record); !label.value.empty()) {
      directory += "/" + labels_.of(label);
      files_.make_directories(directory);
    }
    const std::string_view format = image_format(image);
    if (options_.checks_images && !format.empty()) require_header(record.number, image);
    const std::string_view ending = format.empty() ? "png" : format == "jpeg" ? "jpg" : format;
    const std::string path = path_of(record, directory, ending);
    format.empty() ? write_file(path, png_of(record, image)) : write_file(path, image);
  }

  void close() override {
    labels_.align_numbers([&](const std::string& from, const std::string& to) {
      files_.rename(folder_.partial() + "/" + from, folder_.partial() + "/" + to);
    });
    folder_.commit();
    if (!pixels_.is_guess()) return;
    progress_.note(
        fmt::format("tfrecord export: raw pixels taken as {}; --shape and --layout say otherwise",
                    pixels_.how()));
  }

 private:
  [[noreturn]] static void fail(uint64_t number, const std::string& reason,
                                const std::string& hint = "",
                                ErrorKind kind = ErrorKind::unsupported) {
    throw Error(
        {.kind = kind, .reason = fmt::format("record {}: {}", number, reason), .hint = hint});
  }

  static void require_header(uint64_t number, std::span<const std::byte> image) {
    try {
      (void)image_info(image);
    } catch (const Error& error) {
      if (is_damage(error.kind())) fail(number, error.reason(), error.hint(), ErrorKind::corrupted);
    }
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

  // The file's path: the record's number, or the name in a feature, with the number if another
  // image has the same name.
  std::string path_of(const ExportedRecord& record, const std::string& directory,
                      std::string_view ending) const {
    if (options_.name.empty()) {
      return fmt::format("{}/{:07}.{}", directory, record.number, ending);
    }
    const FeatureView* const feature = record.message.find_feature(options_.name);
    const auto text = feature ? feature->single_bytes() : std::nullopt;
    if (!text) {
      fail(record.number, "no feature " + printable(options_.name) + " with one value of bytes");
    }
    const std::string name =
        sanitized(stem_of({reinterpret_cast<const char*>(text->data()), text->size()}));
    std::string path = fmt::format("{}/{}.{}", directory, name, ending);
    for (std::string number = fmt::format("-{:07}", record.number); files_.status(path);
         number += "-2") {
      path = fmt::format("{}/{}{}.{}", directory, name, number, ending);
    }
    return path;
  }

  Label label_of(const ExportedRecord& record) const {
    if (!options_.label.empty()) {
      Label label = label_in(record, options_.label);
      if (label.value.empty()) {
        fail(record.number, "no feature " + printable(options_.label) + " with one value" +
                                (names_.empty() ? "" : " of int64"));
      }
      return label;
    }
    for (const std::string_view name : kUsualLabelFeatures) {
      if (Label label = label_in(record, name); !label.value.empty()) return label;
    }
    if (!names_.empty()) {
      fail(record.number, "no label with one value of int64", "name the feature with --label");
    }
    return {};
  }

  Label label_in(const ExportedRecord& record, std::string_view name) const {
    const FeatureView* const feature = record.message.find_feature(name);
    if (!feature) return {};
    const auto text = feature->single_bytes();
    if (text && names_.empty()) {
      const std::string label(reinterpret_cast<const char*>(text->data()), text->size());
      return {label, label};
    }
    const auto number = feature->single_int64();
    if (!number) return {};
    const std::string digits = std::to_string(*number);
    if (names_.empty()) return {digits, digits, *number >= 0};
    if (*number < 0 || static_cast<uint64_t>(*number) >= names_.size()) {
      fail(record.number, fmt::format("label {} has no name among the {} of {}", *number,
                                      names_.size(), printable(options_.labels)));
    }
    return {digits, names_[static_cast<size_t>(*number)]};
  }

  std::vector<std::byte> png_of(const ExportedRecord& record, std::span<const std::byte> pixels) {
    if (const std::string_view format = format_in_base64(pixels); !format.empty()) {
      fail(record.number,
           fmt::format("the feature holds the base64 text of a {} image, not its bytes", format),
           "decode it where the records are made: an Example holds bytes as they are",
           ErrorKind::corrupted);
    }
    const auto shape = pixels_.shape_of(record.message, pixels.size());
    if (!shape) {
      fail(record.number, pixels_.misfit(pixels.size()),
           options_.pixels.shape ? "" : "describe raw pixels with --shape HxWxC and --layout",
           ErrorKind::corrupted);
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
  const std::vector<std::string> names_;  // of labels, by number; empty: they have none
  AtomicFolder folder_;
  LabelFolders labels_;
};

}  // namespace

std::unique_ptr<ExportTarget> image_folder_target(const CommandContext& context,
                                                  const TargetOptions& options) {
  return std::make_unique<ImageFolderTarget>(context, options);
}

}  // namespace recordpipe
