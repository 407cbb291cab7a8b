// Examples made of a folder of images, one folder a class: DIR/cat/1.jpg. Nothing outside of DIR is
// read, wherever links lead. The names of one class's files are in memory at a time.
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <utility>

#include "dataset/base/error.h"
#include "dataset/base/stop.h"
#include "dataset/example/example_builder.h"
#include "dataset/image/decode_image.h"
#include "tools/tfrecord/example_source.h"
#include "tools/tfrecord/image_format.h"

namespace recordpipe {
namespace {

constexpr size_t kLargestImage = size_t{1} << 30;
constexpr std::array<std::string_view, 6> kEndings = {".jpg", ".jpeg", ".png",
                                                      ".gif", ".bmp",  ".webp"};

bool is_image_name(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::any_of(kEndings, [&](std::string_view e) { return name.ends_with(e); });
}

struct ImageFile {
  std::string path;
  std::string name;  // "cat/1.jpg"
  size_t label;
};

class ImageFolder final : public ExampleSource {
 public:
  ImageFolder(const CommandContext& context, std::string directory)
      : context_(context), directory_(std::move(directory)), root_(canonical(directory_)) {
    for (const std::string& name : context.files.list(directory_)) {
      const std::string path = directory_ + "/" + name;
      const auto status = context.files.status(path);
      if (name.starts_with('.') || !status || status->kind != FileKind::directory) continue;
      require_inside(path);
      classes_.push_back(name);
    }
    // Links that lead out are refused now, not after hours.
    for_each_image([&](const ImageFile&) { ++count_; });
    if (count_ == 0) {
      throw Error({.kind = ErrorKind::not_found,
                   .path = directory_,
                   .reason = "no images",
                   .hint = "each class is a folder in it: " + directory_ + "/cat/1.jpg"});
    }
  }

  std::optional<uint64_t> count() override { return count_; }

  void run(const Consume& consume) override {
    uint64_t done = 0;
    for_each_image([&](const ImageFile& image) {
      const auto source = context_.files.open_source(image.path);
      const std::vector<std::byte> content = read_all(*source, kLargestImage);
      const std::string example = example_of(image, content);
      consume(std::as_bytes(std::span(example)));
      done += content.size();
      context_.progress.update({.activity = "create", .done = done});
    });
  }

 private:
  static std::filesystem::path canonical(const std::string& path) {
    std::error_code error;
    auto found = std::filesystem::canonical(path, error);
    if (error) throw system_error(error.value(), "open", path);
    return found;
  }

  void require_inside(const std::string& path) const {
    const auto real = canonical(path);
    const auto [end_of_root, place] =
        std::mismatch(root_.begin(), root_.end(), real.begin(), real.end());
    if (end_of_root == root_.end()) return;
    throw Error({.kind = ErrorKind::permission_denied,
                 .path = path,
                 .reason = "a link that leads out of " + printable(directory_)});
  }

  template <typename Visit>
  void for_each_image(Visit visit) const {
    for (size_t label = 0; label < classes_.size(); ++label) {
      const std::string folder = directory_ + "/" + classes_[label];
      for (const std::string& file : context_.files.list(folder)) {
        const std::string path = folder + "/" + file;
        throw_if_stopped(context_.stop, path);
        if (file.starts_with('.') || !is_image_name(file)) continue;
        require_inside(path);
        const auto status = context_.files.status(path);
        if (!status || status->kind != FileKind::regular) continue;
        visit(ImageFile{path, classes_[label] + "/" + file, label});
      }
    }
  }

  std::string example_of(const ImageFile& image, std::span<const std::byte> content) const {
    const std::string_view format = image_format(content);
    if (format.empty()) {
      throw Error({.kind = ErrorKind::corrupted,
                   .path = image.path,
                   .reason = "not an image: neither JPEG, PNG, GIF, BMP nor WebP"});
    }
    ExampleBuilder example;
    example.set_bytes("image/encoded", content)
        .set_bytes("image/format", format)
        .set_int64("image/class/label", static_cast<int64_t>(image.label))
        .set_bytes("image/class/text", classes_[image.label])
        .set_bytes("image/filename", image.name);
    try {
      const ImageInfo info = image_info(content);
      example.set_int64("image/height", static_cast<int64_t>(info.height));
      example.set_int64("image/width", static_cast<int64_t>(info.width));
    } catch (const Error&) {
      // A header that can't be read, or of another format: its size isn't known.
    }
    return example.serialize();
  }

  const CommandContext& context_;
  const std::string directory_;
  const std::filesystem::path root_;
  std::vector<std::string> classes_;  // sorted: labels are places in it
  uint64_t count_ = 0;
};

}  // namespace

std::unique_ptr<ExampleSource> image_folder_source(const CommandContext& context,
                                                   std::vector<std::string> paths) {
  // Several, each with classes of its own, would give two classes one label.
  if (paths.size() != 1) throw UsageError("one folder of images at a time");
  return std::make_unique<ImageFolder>(context, std::move(paths.front()));
}

}  // namespace recordpipe
