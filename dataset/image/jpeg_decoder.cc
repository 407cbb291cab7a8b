// Decodes JPEG files with libjpeg-turbo, which reports errors by longjmp(), never across objects
// with destructors.
#include <algorithm>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <jerror.h>
#include <jpeglib.h>

#include "dataset/image/image_decoders.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

// A progressive image of a few kilobytes can have thousands of scans over all its pixels.
constexpr int kMaxScans = 500;
// Each 8x8 block takes at least one bit of Huffman code.
constexpr uint64_t kMaxPixelsPerByte = 8 * 64;
// The memory limit of libjpeg: for the coefficients of a progressive image, four channels of two
// bytes each, doubled for incomplete blocks at the edges.
constexpr uint64_t kMemoryPerPixel = 16;
constexpr uint64_t kMemoryPerImage = uint64_t{64} << 20;

struct JpegErrors : jpeg_error_mgr {
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  ErrorKind kind;
  bool damaged;  // a warning reported damage; `message` and `kind` describe it
};

JpegErrors& errors_of(j_common_ptr codec) { return *static_cast<JpegErrors*>(codec->err); }

[[noreturn]] void leave_decoder(j_common_ptr codec) {
  JpegErrors& errors = errors_of(codec);
  errors.damaged = false;
  errors.format_message(codec, errors.message);
  const int code = errors.msg_code;
  errors.kind = code == JERR_INPUT_EMPTY || code == JERR_INPUT_EOF ? ErrorKind::truncated
                : code == JERR_NO_BACKING_STORE || code == JERR_OUT_OF_MEMORY
                    ? ErrorKind::limit_exceeded
                : code == JERR_SOF_UNSUPPORTED || code == JERR_CONVERSION_NOTIMPL ||
                        code == JERR_BAD_PRECISION
                    ? ErrorKind::unsupported
                    : ErrorKind::corrupted;
  std::longjmp(errors.escape, 1);
}

// Handles warnings: keeps the first one about damage, and ignores harmless ones (unknown versions,
// stray bytes between segments), which occur in real files.
void note(j_common_ptr codec, int level) {
  JpegErrors& errors = errors_of(codec);
  const int code = errors.msg_code;
  if (level >= 0 || errors.damaged || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR ||
      code == JWRN_EXTRANEOUS_DATA || code == JWRN_TOO_MUCH_DATA) {
    return;
  }
  errors.damaged = true;
  errors.format_message(codec, errors.message);
  errors.kind = code == JWRN_JPEG_EOF ? ErrorKind::truncated : ErrorKind::corrupted;
}

void print_nothing(j_common_ptr) {}

void count_scans(j_common_ptr codec) {
  if (reinterpret_cast<j_decompress_ptr>(codec)->input_scan_number <= kMaxScans) return;
  JpegErrors& errors = errors_of(codec);
  errors.damaged = false;
  std::snprintf(errors.message, sizeof errors.message, "more than %d scans", kMaxScans);
  errors.kind = ErrorKind::limit_exceeded;
  std::longjmp(errors.escape, 1);
}

// libjpeg-turbo writes rows at multiples of 16 bytes past the caches (non-temporal stores); to copy
// such a row at once costs a seventh of the time of decoding. Returns an odd address in `rows`,
// which must have one byte more than is used.
uint8_t* unaligned(std::vector<uint8_t>& rows) { return rows.data() + 1; }

// Runs `step`, which must not own resources. Returns false after an error of libjpeg.
template <class Step>
__attribute__((noinline)) bool completes(JpegErrors& errors, Step step) {
  if (setjmp(errors.escape) != 0) return false;
  step();
  return true;
}

// Adobe's CMYK files store inverted values.
void cmyk_to_rgb(const uint8_t* from, size_t width, bool inverted, uint8_t* to) {
  for (size_t x = 0; x < width; ++x, from += 4, to += 3) {
    const int white = inverted ? from[3] : 255 - from[3];
    for (int c = 0; c < 3; ++c) {
      to[c] = static_cast<uint8_t>((inverted ? from[c] : 255 - from[c]) * white / 255);
    }
  }
}

void rgb_to_channels(const uint8_t* from, size_t width, size_t channels, uint8_t* to) {
  for (size_t x = 0; x < width; ++x, from += 3, to += channels) {
    if (channels == 1) {
      to[0] = static_cast<uint8_t>((299 * from[0] + 587 * from[1] + 114 * from[2] + 500) / 1000);
    } else {
      std::copy_n(from, 3, to);
      if (channels == 4) to[3] = 255;
    }
  }
}

}  // namespace

struct JpegDecoder::State {
  jpeg_decompress_struct codec = {};
  JpegErrors errors = {};
  jpeg_progress_mgr progress = {};
  std::vector<uint8_t> rows;
  size_t file_size = 0;

  State() {
    codec.err = jpeg_std_error(&errors);
    errors.error_exit = leave_decoder;
    errors.emit_message = note;
    errors.output_message = print_nothing;
    if (!completes(errors, [this] { jpeg_create_decompress(&codec); })) fail();
    progress.progress_monitor = count_scans;
    codec.progress = &progress;
  }
  ~State() { jpeg_destroy_decompress(&codec); }

  [[noreturn]] void fail() const {
    Error::Parts parts = {.kind = errors.kind, .reason = errors.message};
    if (codec.src != nullptr) parts.offset = file_size - codec.src->bytes_in_buffer;
    // At the end of the input, the source manager inserts an end-of-image marker.
    if (errors.kind == ErrorKind::truncated) parts.offset = file_size;
    if (!parts.reason.empty()) parts.reason.insert(0, "JPEG: ");
    throw Error(std::move(parts));
  }

  // Releases the current image; keeps the codec.
  struct Ended {
    State& state;
    ~Ended() { jpeg_abort_decompress(&state.codec); }
  };

  bool is_cmyk() const {
    return codec.jpeg_color_space == JCS_CMYK || codec.jpeg_color_space == JCS_YCCK;
  }

  ImageInfo read_header(std::span<const std::byte> file) {
    file_size = file.size();
    errors.damaged = false;
    const bool complete = completes(errors, [&] {
      jpeg_mem_src(&codec, reinterpret_cast<const unsigned char*>(file.data()), file.size());
      jpeg_read_header(&codec, TRUE);
    });
    if (!complete || errors.damaged) fail();
    const bool grey = codec.jpeg_color_space == JCS_GRAYSCALE;
    if (codec.jpeg_color_space == JCS_UNKNOWN) {
      throw Error({.kind = ErrorKind::unsupported,
                   .offset = 0,
                   .reason = "JPEG: " + std::to_string(codec.num_components) +
                             " channels in an unknown colour space"});
    }
    return {.format = ImageFileFormat::jpeg,
            .height = codec.image_height,
            .width = codec.image_width,
            .channels = grey ? size_t{1} : size_t{3},
            .bits_per_channel = codec.data_precision};
  }

  void start(const ImageInfo& info, size_t channels, Dct dct, int denominator) {
    const uint64_t pixels = uint64_t{info.height} * info.width;
    codec.mem->max_memory_to_use = static_cast<long>(kMemoryPerImage + pixels * kMemoryPerPixel);
    codec.out_color_space = is_cmyk()       ? JCS_CMYK
                            : channels == 1 ? JCS_GRAYSCALE
                            : channels == 3 ? JCS_RGB
                                            : JCS_EXT_RGBA;
    codec.scale_num = DCTSIZE / static_cast<unsigned>(denominator);
    codec.scale_denom = DCTSIZE;
    codec.dct_method = dct == Dct::fast ? JDCT_IFAST : JDCT_ISLOW;
    if (!completes(errors, [this] { jpeg_start_decompress(&codec); })) fail();
  }

  // Leaves out columns outside of `part`, but for a margin: upsampled colours depend on neighbours.
  // Returns the first column that is left.
  size_t crop_columns(const ImagePart& part) {
    const auto margin = static_cast<size_t>(codec.max_h_samp_factor) * DCTSIZE;
    const size_t begin = part.left - std::min(part.left, margin);
    const size_t end = std::min(part.left + part.width + margin, size_t{codec.output_width});
    auto first = static_cast<JDIMENSION>(begin);
    auto width = static_cast<JDIMENSION>(end - begin);
    if (!completes(errors, [&] { jpeg_crop_scanline(&codec, &first, &width); })) fail();
    return first;
  }

  void read_rows(const ImagePart& part, DecodedImage& image) {
    const bool is_whole = part == ImagePart{0, 0, codec.output_height, codec.output_width};
    const size_t left = is_whole ? 0 : part.left - crop_columns(part);
    const size_t width = codec.output_width;
    const auto decoded = static_cast<size_t>(codec.output_components);
    const bool direct = is_whole && !is_cmyk();
    // A decoded row, then a row of RGB.
    if (!direct) rows.resize(width * (decoded + 3) + 1);
    uint8_t* const buffer = direct ? nullptr : unaligned(rows);
    const bool complete = completes(errors, [&] {
      if (part.top > 0) jpeg_skip_scanlines(&codec, static_cast<JDIMENSION>(part.top));
      for (size_t y = 0; y < part.height; ++y) {
        uint8_t* to = image.pixels.data() + y * image.width * image.channels;
        uint8_t* row = direct ? to : buffer;
        jpeg_read_scanlines(&codec, &row, 1);
        if (direct) continue;
        const uint8_t* const kept = row + left * decoded;
        if (is_cmyk()) {
          uint8_t* rgb = buffer + width * decoded;
          cmyk_to_rgb(kept, image.width, codec.saw_Adobe_marker != FALSE, rgb);
          rgb_to_channels(rgb, image.width, image.channels, to);
        } else {
          std::copy_n(kept, image.width * image.channels, to);
        }
      }
      if (codec.output_scanline == codec.output_height) jpeg_finish_decompress(&codec);
    });
    if (!complete) fail();
  }
};

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {}
JpegDecoder::~JpegDecoder() = default;

ImageInfo JpegDecoder::info(std::span<const std::byte> file) {
  const State::Ended ended{*state_};
  return state_->read_header(file);
}

void JpegDecoder::decode(std::span<const std::byte> file, const DecodeOptions& options,
                         const ImageDecoder::ChoosePart& choose, DecodedImage& image) {
  const State::Ended ended{*state_};
  const ImageInfo info = state_->read_header(file);
  check_pixels(info, options);
  const ChosenPart chosen = chosen_part(choose, info);
  const ImagePart& part = chosen.part;
  if (!options.accept_damaged && !state_->codec.arith_code &&
      uint64_t{info.height} * info.width / kMaxPixelsPerByte > file.size()) {
    throw too_few_bytes("JPEG", file.size(), info);
  }
  image.height = part.height;
  image.width = part.width;
  image.channels = options.channels == 0 ? info.channels : static_cast<size_t>(options.channels);
  state_->start(info, image.channels, options.dct, chosen.denominator);
  image.pixels.resize(image.height * image.width * image.channels);
  state_->read_rows(part, image);
  if (state_->errors.damaged && !options.accept_damaged) state_->fail();
}

}  // namespace recordpipe
