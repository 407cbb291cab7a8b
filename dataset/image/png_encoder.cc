#include <bit>
#include <csetjmp>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <png.h>

#include "recordpipe/base/error.h"
#include "recordpipe/image/encode_png.h"

namespace recordpipe {
namespace {

constexpr size_t kLongestPngSide = 0x7fffffff;

void check_size(size_t values, size_t height, size_t width, size_t channels) {
  const bool fits = height > 0 && width > 0 && channels > 0 && channels <= 4 &&
                    height <= kLongestPngSide && width <= kLongestPngSide &&
                    values % (width * channels) == 0 && values / (width * channels) == height;
  if (fits) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = std::to_string(values) + " values for an image of " +
                         std::to_string(height) + " x " + std::to_string(width) + " x " +
                         std::to_string(channels)});
}

[[noreturn]] void fail(const char* message) {
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "can't be written as PNG: " + printable(message)});
}

png_uint_32 png_format_of(size_t channels) {
  switch (channels) {
    case 1:
      return PNG_FORMAT_GRAY;
    case 2:
      return PNG_FORMAT_GA;
    case 3:
      return PNG_FORMAT_RGB;
    default:
      return PNG_FORMAT_RGBA;
  }
}

int color_type_of(size_t channels) {
  const int alpha = channels % 2 == 0 ? PNG_COLOR_MASK_ALPHA : 0;
  return alpha | (channels > 2 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY);
}

// Writes one file of 16 bits per channel. (libpng's simplified interface, which writes 8 bits
// below, takes 16 bits as linear light with premultiplied alpha.)
class Writer16 {
 public:
  Writer16() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, leave, ignore);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr) {
      png_destroy_write_struct(&png_, nullptr);
      throw std::bad_alloc();
    }
  }
  Writer16(const Writer16&) = delete;
  Writer16& operator=(const Writer16&) = delete;
  ~Writer16() { png_destroy_write_struct(&png_, &info_); }

  std::vector<std::byte> write(const uint16_t* pixels, size_t height, size_t width,
                               size_t channels) {
    const bool complete = completes([&] {
      png_set_write_fn(png_, this, append, [](png_structp) {});
      png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
      png_set_IHDR(png_, info_, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
                   16, color_type_of(channels), PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE,
                   PNG_FILTER_TYPE_BASE);
      png_write_info(png_, info_);
      if constexpr (std::endian::native == std::endian::little) png_set_swap(png_);
      for (size_t y = 0; y < height; ++y) {
        png_write_row(png_, reinterpret_cast<png_const_bytep>(pixels + y * width * channels));
      }
      png_write_end(png_, info_);
    });
    if (no_memory_) throw std::bad_alloc();
    if (!complete) fail(message_);
    return std::move(file_);
  }

 private:
  static Writer16& self(png_structp png) { return *static_cast<Writer16*>(png_get_error_ptr(png)); }

  [[noreturn]] static void leave(png_structp png, png_const_charp message) {
    Writer16& writer = self(png);
    std::strncpy(writer.message_, message, sizeof writer.message_ - 1);
    std::longjmp(writer.escape_, 1);
  }

  static void ignore(png_structp, png_const_charp) {}

  static void append(png_structp png, png_bytep bytes, size_t size) {
    Writer16& writer = self(png);
    try {
      const auto* const begin = reinterpret_cast<const std::byte*>(bytes);
      writer.file_.insert(writer.file_.end(), begin, begin + size);
      return;
    } catch (const std::bad_alloc&) {
      writer.no_memory_ = true;
    }
    png_error(png, "no memory");
  }

  // Runs `step`, which must not own resources. Returns false after an error of libpng.
  template <class Step>
  __attribute__((noinline)) bool completes(Step step) {
    if (setjmp(escape_) != 0) return false;
    step();
    return true;
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::vector<std::byte> file_;
  bool no_memory_ = false;
  std::jmp_buf escape_;
  char message_[128] = "";
};

}  // namespace

std::vector<std::byte> encode_png(std::span<const uint8_t> pixels, size_t height, size_t width,
                                  size_t channels) {
  check_size(pixels.size(), height, width, channels);
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(height);
  image.width = static_cast<png_uint_32>(width);
  image.format = png_format_of(channels);
  std::vector<std::byte> file(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t size = file.size();
  if (png_image_write_to_memory(&image, file.data(), &size, /*convert_to_8_bit=*/0, pixels.data(),
                                /*row_stride=*/0, /*colormap=*/nullptr) == 0) {
    fail(image.message);
  }
  file.resize(size);
  return file;
}

std::vector<std::byte> encode_png(std::span<const uint16_t> pixels, size_t height, size_t width,
                                  size_t channels) {
  check_size(pixels.size(), height, width, channels);
  return Writer16().write(pixels.data(), height, width, channels);
}

}  // namespace recordpipe
