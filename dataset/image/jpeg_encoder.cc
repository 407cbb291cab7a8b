// Encodes JPEG files with libjpeg-turbo, which reports errors by longjmp(), never across objects
// with destructors.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <jpeglib.h>

#include "recordpipe/base/error.h"
#include "recordpipe/image/encode_jpeg.h"

namespace recordpipe {
namespace {

constexpr size_t kLongestJpegSide = JPEG_MAX_DIMENSION;

struct EncodeErrors : jpeg_error_mgr {
  std::jmp_buf escape;
  char text[JMSG_LENGTH_MAX];
};

[[noreturn]] void leave_encoder(j_common_ptr codec) {
  EncodeErrors& errors = *static_cast<EncodeErrors*>(codec->err);
  errors.format_message(codec, errors.text);
  std::longjmp(errors.escape, 1);
}

void say_nothing(j_common_ptr) {}
void ignore(j_common_ptr, int) {}

// A compressor, and the file in the memory that it allocates.
class JpegWriter {
 public:
  JpegWriter() {
    codec_.err = jpeg_std_error(&errors_);
    errors_.error_exit = leave_encoder;
    errors_.output_message = say_nothing;
    errors_.emit_message = ignore;
  }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;
  ~JpegWriter() {
    jpeg_destroy_compress(&codec_);
    std::free(file_);
  }

  void write(const uint8_t* pixels, size_t height, size_t width, size_t channels,
             const JpegOptions& options) {
    const bool complete = completes([&] {
      jpeg_create_compress(&codec_);
      jpeg_mem_dest(&codec_, &file_, &size_);
      codec_.image_height = static_cast<JDIMENSION>(height);
      codec_.image_width = static_cast<JDIMENSION>(width);
      codec_.input_components = static_cast<int>(channels);
      codec_.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
      jpeg_set_defaults(&codec_);
      jpeg_set_quality(&codec_, options.quality, TRUE);
      jpeg_start_compress(&codec_, TRUE);
      if (options.orientation != 1) write_orientation(options.orientation);
      while (codec_.next_scanline < codec_.image_height) {
        auto* row = const_cast<JSAMPROW>(pixels + codec_.next_scanline * width * channels);
        jpeg_write_scanlines(&codec_, &row, 1);
      }
      jpeg_finish_compress(&codec_);
    });
    if (complete) return;
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = std::string("can't be written as JPEG: ") + errors_.text});
  }

  std::span<const std::byte> file() const {
    return {reinterpret_cast<const std::byte*>(file_), size_};
  }

 private:
  // EXIF with one entry, the orientation (tag 0x0112, a short): a TIFF header, big-endian, and a
  // directory.
  void write_orientation(int orientation) {
    const uint8_t exif[] = {
        'E', 'x', 'i', 'f', 0,    0, 'M', 'M', 0, 42, 0, 0, 0,
        8,   0,   1,   1,   0x12, 0, 3,   0,   0, 0,  1, 0, static_cast<uint8_t>(orientation),
        0,   0,   0,   0,   0,    0};
    jpeg_write_marker(&codec_, JPEG_APP0 + 1, exif, sizeof exif);
  }

  // Runs `step`, which must not own resources. Returns false after an error of libjpeg.
  template <class Step>
  __attribute__((noinline)) bool completes(Step step) {
    if (setjmp(errors_.escape) != 0) return false;
    step();
    return true;
  }

  jpeg_compress_struct codec_ = {};
  EncodeErrors errors_ = {};
  unsigned char* file_ = nullptr;
  unsigned long size_ = 0;  // NOLINT: libjpeg's type
};

}  // namespace

std::vector<std::byte> encode_jpeg(std::span<const uint8_t> pixels, size_t height, size_t width,
                                   size_t channels, const JpegOptions& options) {
  const bool fits = height > 0 && width > 0 && (channels == 1 || channels == 3) &&
                    height <= kLongestJpegSide && width <= kLongestJpegSide &&
                    pixels.size() == height * width * channels;
  if (!fits) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = std::to_string(pixels.size()) + " bytes for a JPEG image of " +
                           std::to_string(height) + " x " + std::to_string(width) + " x " +
                           std::to_string(channels)});
  }
  const auto require = [](const char* what, int value, int most) {
    if (value >= 1 && value <= most) return;
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = std::string(what) + " of a JPEG image is 1 to " + std::to_string(most) +
                           ", not " + std::to_string(value)});
  };
  require("the quality", options.quality, 100);
  require("the orientation", options.orientation, 8);
  JpegWriter writer;
  writer.write(pixels.data(), height, width, channels, options);
  const auto file = writer.file();
  return {file.begin(), file.end()};
}

}  // namespace recordpipe
