// Decodes PNG files with libpng, which reports errors by longjmp(), never across objects with
// destructors. Also encodes PNG files.
#include <algorithm>
#include <bit>
#include <csetjmp>
#include <cstring>
#include <string>

#include <png.h>

#include "dataset/image/image_decoders.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

// The largest compression ratio of deflate.
constexpr uint64_t kMaxExpansion = 1032;

// Reads one file.
class PngReader {
 public:
  explicit PngReader(std::span<const std::byte> file) : file_(file) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, leave, ignore);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  ImageInfo read_header() {
    const bool complete = completes([this] {
      png_set_read_fn(png_, this, read);
      // DecodeOptions::max_pixels limits the size.
      png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
      // Reads only IHDR, PLTE, tRNS, IDAT and IEND: text and profiles may expand without limit.
      png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
      png_read_info(png_, info_);
    });
    if (!complete) fail();
    size_t channels = png_get_channels(png_, info_);
    if (is_palette()) channels = has_transparency() ? 4 : 3;
    return {.format = ImageFileFormat::png,
            .height = png_get_image_height(png_, info_),
            .width = png_get_image_width(png_, info_),
            .channels = channels,
            .bits_per_channel = png_get_bit_depth(png_, info_)};
  }

  // Lets libpng decode more of the rows before the end of a truncated file.
  void read_in_small_pieces() { png_set_compression_buffer_size(png_, 64); }

  // Whether the file is long enough for the image size in its header.
  bool is_plausible(const ImageInfo& info) const {
    const uint64_t rows = uint64_t{png_get_rowbytes(png_, info_)} * info.height;
    return rows / kMaxExpansion <= file_.size();
  }

  void convert_to(size_t channels, int bits) {
    const int color = png_get_color_type(png_, info_);
    const bool is_grey = (color & PNG_COLOR_MASK_COLOR) == 0;
    const bool has_alpha = (color & PNG_COLOR_MASK_ALPHA) != 0;
    const bool wants_alpha = channels % 2 == 0;
    const bool complete = completes([&] {
      if (bits == 8) {
        png_set_strip_16(png_);
      } else {
        png_set_expand_16(png_);
        if constexpr (std::endian::native == std::endian::little) png_set_swap(png_);
      }
      png_set_packing(png_);
      if (is_palette()) png_set_palette_to_rgb(png_);
      if (is_grey && png_get_bit_depth(png_, info_) < 8) png_set_expand_gray_1_2_4_to_8(png_);
      if (!wants_alpha && (has_alpha || has_transparency())) png_set_strip_alpha(png_);
      if (wants_alpha && !has_alpha && has_transparency()) png_set_tRNS_to_alpha(png_);
      if (wants_alpha && !has_alpha && !has_transparency()) {
        png_set_add_alpha(png_, 0xFFFF, PNG_FILLER_AFTER);
      }
      if (is_grey && channels > 2) png_set_gray_to_rgb(png_);
      if (!is_grey && channels <= 2) {
        png_set_rgb_to_gray_fixed(png_, PNG_ERROR_ACTION_NONE, 29'900, 58'700);
      }
      passes_ = png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    });
    if (!complete) fail();
  }

  // `rows`: of the whole image. Returns false if the file is damaged.
  bool read_rows(const ImageInfo& info, size_t row_bytes, png_bytep rows) {
    if (png_get_rowbytes(png_, info_) != row_bytes) {
      throw Error({.kind = ErrorKind::unsupported, .offset = 0, .reason = "PNG: unexpected rows"});
    }
    return completes([&] {
      for (int pass = 0; pass < passes_; ++pass) {
        for (size_t y = 0; y < info.height; ++y) {
          png_read_row(png_, rows + y * row_bytes, nullptr);
        }
      }
      png_read_end(png_, nullptr);
    });
  }

  [[noreturn]] void fail() const {
    const ErrorKind kind = truncated_ ? ErrorKind::truncated : ErrorKind::corrupted;
    throw Error({.kind = kind, .offset = at_, .reason = std::string("PNG: ") + message_});
  }

 private:
  static PngReader& self(png_structp png) {
    return *static_cast<PngReader*>(png_get_error_ptr(png));
  }

  [[noreturn]] static void leave(png_structp png, png_const_charp message) {
    PngReader& reader = self(png);
    const size_t length = std::min(std::strlen(message), sizeof reader.message_ - 1);
    std::memcpy(reader.message_, message, length);
    reader.message_[length] = '\0';
    std::longjmp(reader.escape_, 1);
  }

  static void ignore(png_structp, png_const_charp) {}

  static void read(png_structp png, png_bytep to, size_t size) {
    PngReader& reader = self(png);
    if (size > reader.file_.size() - reader.at_) {
      reader.at_ = reader.file_.size();
      reader.truncated_ = true;
      png_error(png, "the file ends too early");
    }
    std::memcpy(to, reader.file_.data() + reader.at_, size);
    reader.at_ += size;
  }

  // Runs `step`, which must not own resources. Returns false after an error of libpng.
  template <class Step>
  __attribute__((noinline)) bool completes(Step step) {
    if (setjmp(escape_) != 0) return false;
    step();
    return true;
  }

  bool is_palette() const { return png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE; }
  bool has_transparency() const { return png_get_valid(png_, info_, PNG_INFO_tRNS) != 0; }

  std::span<const std::byte> file_;
  size_t at_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  bool truncated_ = false;
  std::jmp_buf escape_;
  char message_[128] = "";
};

// Reads the whole image to `pixels`, and cuts the part out, in place.
template <class Value>
bool read_part(PngReader& reader, const ImageInfo& info, const ImagePart& part, size_t channels,
               std::vector<Value>& pixels) {
  pixels.resize(info.height * info.width * channels);
  const bool complete = reader.read_rows(info, info.width * channels * sizeof(Value),
                                         reinterpret_cast<png_bytep>(pixels.data()));
  if (part == ImagePart{0, 0, info.height, info.width}) return complete;
  const size_t row = part.width * channels;
  for (size_t y = 0; y < part.height; ++y) {
    const size_t from = ((part.top + y) * info.width + part.left) * channels;
    std::memmove(pixels.data() + y * row, pixels.data() + from, row * sizeof(Value));
  }
  pixels.resize(part.height * row);
  return complete;
}

}  // namespace

ImageInfo PngDecoder::info(std::span<const std::byte> file) {
  return PngReader(file).read_header();
}

void PngDecoder::decode(std::span<const std::byte> file, const DecodeOptions& options,
                        const ImageDecoder::ChoosePart& choose, DecodedImage& image) {
  PngReader reader(file);
  const ImageInfo info = reader.read_header();
  check_pixels(info, options);
  const ImagePart part = chosen_part(choose, info).part;
  if (!options.accept_damaged && !reader.is_plausible(info)) {
    throw too_few_bytes("PNG", file.size(), info);
  }
  image.height = part.height;
  image.width = part.width;
  image.channels = options.channels == 0 ? info.channels : static_cast<size_t>(options.channels);
  reader.convert_to(image.channels, options.bits);
  image.pixels.clear();
  image.pixels16.clear();
  if (options.accept_damaged) reader.read_in_small_pieces();  // what is missing is 0
  const bool complete = options.bits == 16
                            ? read_part(reader, info, part, image.channels, image.pixels16)
                            : read_part(reader, info, part, image.channels, image.pixels);
  if (!complete && !options.accept_damaged) reader.fail();
}

}  // namespace recordpipe
