// Makes Examples from a folder of images with one folder per class: DIR/cat/1.jpg. Reads nothing
// outside of DIR, not even through links. The list of images is made at the start; an image that is
// missing later is an error. Memory holds the names of one class at a time; a temporary file holds
// all names.
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "dataset/base/names_in_words.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/io/temporary_file.h"
#include "recordpipe/toolkit/image_format.h"
#include "tools/tfrecord/formats/example_source.h"
#include "tools/tfrecord/io/input_progress.h"

namespace recordpipe {
namespace {

constexpr size_t kLargestImage = size_t{1} << 30;
constexpr size_t kMaxClasses = 1'000'000;
constexpr std::array<std::string_view, 6> kImageEndings = {".jpg", ".jpeg", ".png",
                                                           ".gif", ".bmp",  ".webp"};

struct ImageClass {
  std::string name = {};
  uint64_t images = 0;
};

struct ImageFile {
  std::string path;
  std::string name;  // "cat/1.jpg"
  size_t label;
};

// Stores any number of names in a temporary file.
class NameList {
 public:
  explicit NameList(const std::string& directory) : file_(directory) {}

  void append(const std::string& name) {
    const size_t size = name.size();
    file_.append(std::as_bytes(std::span(&size, 1)));
    file_.append(std::as_bytes(std::span(name)));
  }
  // Reads the name at `place` and moves `place` to the next name; the first name is at 0.
  std::string next(uint64_t& place) const {
    size_t size = 0;
    file_.read_at(place, std::as_writable_bytes(std::span(&size, 1)));
    std::string name(size, '\0');
    file_.read_at(place + sizeof size, std::as_writable_bytes(std::span(name)));
    place += sizeof size + size;
    return name;
  }

 private:
  TemporaryFile file_;
};

// Counts files, and names the first of them.
struct FirstFiles {
  static constexpr size_t kNamed = 3;

  uint64_t count = 0;
  std::string first = {};

  void add(const std::string& name) {
    if (count < kNamed) first.append(count == 0 ? "" : ", ").append(printable(name));
    if (count == kNamed) first += ", ...";
    ++count;
  }
};

class ImageFolder final : public ExampleSource {
 public:
  ImageFolder(const CommandContext& context, std::string directory,
              const std::string& temporary_directory)
      : context_(context),
        directory_(std::move(directory)),
        root_(canonical(directory_)),
        names_(temporary_directory) {
    for (const std::string& name : context.files.list(directory_)) add_class(name);
    for (ImageClass& its : classes_) list_images(its);
    if (left_out_.count > 0) {
      context.progress.warn(
          fmt::format("tfrecord create: left out {} of the files and folders in {}, which are "
                      "hidden or not named as images of a class are: {}",
                      left_out_.count, printable(directory_), left_out_.first));
    }
    if (count() == 0u) {
      throw Error({.kind = ErrorKind::not_found,
                   .path = directory_,
                   .reason = "no images",
                   .hint = "each class is a folder in it: " + directory_ + "/cat/1.jpg"});
    }
  }

  std::optional<uint64_t> count() override {
    uint64_t count = 0;
    for (const ImageClass& its : classes_) count += its.images;
    return count;
  }

  void run(const Consume& consume) override {
    InputProgress progress(context_, "create", bytes_);
    uint64_t place = 0;
    for (size_t label = 0; label < classes_.size(); ++label) {
      for (uint64_t i = 0; i < classes_[label].images; ++i) {
        const std::string name = classes_[label].name + "/" + names_.next(place);
        const ImageFile image = {directory_ + "/" + name, name, label};
        throw_if_stopped(context_.stop, image.path);
        require_inside(image.path);  // the file may have become a link meanwhile
        const auto source = context_.files.open_source(image.path);
        const std::vector<std::byte> content = read_all(*source, kLargestImage);
        const std::string example = example_of(image, content);
        consume(std::as_bytes(std::span(example)));
        progress.add(content.size());
      }
    }
    if (broken_.count > 0) {
      context_.progress.warn(
          fmt::format("tfrecord create: {} whose header can't be read, and so without "
                      "image/height and image/width: {}",
                      counted(broken_.count, "image"), broken_.first));
    }
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

  void add_class(const std::string& name) {
    const std::string path = directory_ + "/" + name;
    if (name.starts_with('.') || !context_.files.is_directory(path)) {
      left_out_.add(name);
      return;
    }
    require_inside(path);
    if (classes_.size() == kMaxClasses) {
      throw Error({.kind = ErrorKind::limit_exceeded,
                   .path = directory_,
                   .reason = "more than 1,000,000 folders, each of which would be a class"});
    }
    classes_.push_back({.name = name});
  }

  // Refuses links that lead out of the folder now, rather than after hours of reading.
  void list_images(ImageClass& its) {
    for (const std::string& file : context_.files.list(directory_ + "/" + its.name)) {
      const std::string path = directory_ + "/" + its.name + "/" + file;
      throw_if_stopped(context_.stop, path);
      const bool is_named_so = !file.starts_with('.') && is_image_name(file);
      if (is_named_so) require_inside(path);
      const auto status = is_named_so ? context_.files.status(path) : std::nullopt;
      if (is_named_so && !status) throw system_error(ENOENT, "open", path);
      if (!status || status->kind != FileKind::regular) {
        left_out_.add(its.name + "/" + file);
        continue;
      }
      bytes_ += status->size;
      names_.append(file);
      ++its.images;
    }
  }

  std::string example_of(const ImageFile& image, std::span<const std::byte> content) {
    const std::string_view format = image_format(content);
    if (format.empty()) {
      throw Error({.kind = ErrorKind::corrupted,
                   .path = image.path,
                   .reason = "not an image: neither JPEG, PNG, GIF, BMP nor WebP",
                   .hint = "remove it, or rename it: only names of images are read"});
    }
    ExampleBuilder example;
    example.set_bytes("image/encoded", content)
        .set_bytes("image/format", format)
        .set_int64("image/class/label", static_cast<int64_t>(image.label))
        .set_bytes("image/class/text", classes_[image.label].name)
        .set_bytes("image/filename", image.name);
    try {
      const ImageInfo info = image_info(content);
      example.set_int64("image/height", static_cast<int64_t>(info.height));
      example.set_int64("image/width", static_cast<int64_t>(info.width));
    } catch (const Error&) {  // the size of other formats is unknown
      if (format == "jpeg" || format == "png") broken_.add(image.name);
    }
    return example.serialize();
  }

  const CommandContext& context_;
  const std::string directory_;
  const std::filesystem::path root_;
  std::vector<ImageClass> classes_;  // sorted; labels are indexes into it
  NameList names_;                   // of the images, by class, without their folders
  uint64_t bytes_ = 0;               // total size of the images
  FirstFiles left_out_;              // entries of the folder that don't become records
  FirstFiles broken_;                // images whose header can't be read
};

}  // namespace

bool is_image_name(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::any_of(kImageEndings, [&](std::string_view e) { return name.ends_with(e); });
}

std::unique_ptr<ExampleSource> image_folder_source(const CommandContext& context,
                                                   std::vector<std::string> paths,
                                                   const SourceOptions& options) {
  // With several folders, each with its own classes, two classes would have the same label.
  if (paths.size() != 1) throw UsageError("one folder of images at a time");
  return std::make_unique<ImageFolder>(context, std::move(paths.front()),
                                       options.temporary_directory);
}

}  // namespace recordpipe
