// Decodes WebP files with libwebp: still images, and the first frame of animations.
#include <algorithm>
#include <string>

#include "dataset/image/image_decoders.h"
#include "dataset/image/little_endian_reader.h"

#ifdef RECORDPIPE_WEBP
#include <webp/decode.h>
#endif

namespace recordpipe {

#ifdef RECORDPIPE_WEBP

namespace {

// A lossy file has more than 3 bits for each macroblock, of 16x16 pixels. Lossless ones have no
// such limit: a single colour takes no bits.
constexpr uint64_t kMaxLossyPixelsPerByte = 1024;
// Of the canvas of an animation, around its first frame.
constexpr uint64_t kMaxCanvasPixelsPerByte = 16384;

// An image, or the first frame of an animation, in a canvas.
struct WebpFile {
  size_t width = 0, height = 0;
  bool has_alpha = false;
  std::span<const std::byte> image = {};  // what libwebp decodes
  size_t left = 0, top = 0;               // of the frame
  size_t frame_width = 0, frame_height = 0;
  bool lossy = false;

  ImageInfo info() const {
    return {.format = ImageFileFormat::webp,
            .height = height,
            .width = width,
            .channels = has_alpha ? size_t{4} : size_t{3}};
  }
  bool is_plausible(uint64_t file_size) const {
    const uint64_t frame = frame_width * frame_height, canvas = width * height;
    return !(lossy && frame / kMaxLossyPixelsPerByte > file_size) &&
           (canvas == frame || canvas / kMaxCanvasPixelsPerByte <= file_size);
  }
};

constexpr int kLossyWebp = 1;  // WebPBitstreamFeatures::format

WebPBitstreamFeatures webp_features(std::span<const std::byte> image, size_t file_size) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status =
      WebPGetFeatures(reinterpret_cast<const uint8_t*>(image.data()), image.size(), &features);
  if (status == VP8_STATUS_OK) return features;
  const bool is_cut = status == VP8_STATUS_NOT_ENOUGH_DATA;
  throw Error({.kind = is_cut ? ErrorKind::truncated : ErrorKind::corrupted,
               .offset = file_size,
               .reason = is_cut ? "WebP: the file ends too early" : "WebP: a damaged header"});
}

WebpFile webp_header(std::span<const std::byte> file) {
  LittleEndianReader in(file, "WebP");
  in.skip(4);  // "RIFF"
  const size_t content = in.number(4);
  in.bytes(content);  // all of it is there
  const auto whole = webp_features(file, file.size());
  WebpFile webp = {.width = static_cast<size_t>(whole.width),
                   .height = static_cast<size_t>(whole.height),
                   .has_alpha = whole.has_alpha != 0,
                   .image = file,
                   .frame_width = static_cast<size_t>(whole.width),
                   .frame_height = static_cast<size_t>(whole.height),
                   .lossy = whole.format == kLossyWebp};
  if (!whole.has_animation) return webp;
  LittleEndianReader chunks(file.first(8 + content), "WebP");
  chunks.skip(12);
  while (true) {
    const uint32_t name = chunks.number(4);
    const size_t size = chunks.number(4);
    const auto chunk = chunks.bytes(size);
    if (name != 0x464D4E41) {  // "ANMF"
      chunks.skip(size % 2);
      continue;
    }
    LittleEndianReader frame(chunk, "WebP");
    webp.left = size_t{frame.number(3)} * 2;
    webp.top = size_t{frame.number(3)} * 2;
    frame.skip(10);
    webp.image = chunk.subspan(frame.at());
    const auto found = webp_features(webp.image, file.size());
    webp.frame_width = static_cast<size_t>(found.width);
    webp.frame_height = static_cast<size_t>(found.height);
    webp.lossy = found.format == kLossyWebp;
    if (webp.left + webp.frame_width > webp.width || webp.top + webp.frame_height > webp.height) {
      chunks.fail("a frame that leads out of the image");
    }
    return webp;
  }
}

}  // namespace

ImageInfo WebpDecoder::info(std::span<const std::byte> file) const {
  return webp_header(file).info();
}

void WebpDecoder::decode(std::span<const std::byte> file, bool accept_damaged,
                         std::vector<uint8_t>& rgba) const {
  const WebpFile webp = webp_header(file);
  if (!webp.is_plausible(file.size()) && !accept_damaged) {
    throw too_few_bytes("WebP", file.size(), webp.info());
  }
  rgba.assign(webp.height * webp.width * 4, 0);
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) {
    throw Error({.kind = ErrorKind::unsupported, .reason = "another version of libwebp"});
  }
  const size_t begin = (webp.top * webp.width + webp.left) * 4;
  config.output.colorspace = MODE_RGBA;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {.rgba = rgba.data() + begin,
                          .stride = static_cast<int>(webp.width * 4),
                          .size = rgba.size() - begin};
  const VP8StatusCode status =
      WebPDecode(reinterpret_cast<const uint8_t*>(webp.image.data()), webp.image.size(), &config);
  if (status == VP8_STATUS_OK || accept_damaged) return;
  // Newer libwebp also says "out of memory" of damaged codes.
  const bool may_lack_memory = status == VP8_STATUS_OUT_OF_MEMORY;
  throw Error(
      {.kind = status == VP8_STATUS_NOT_ENOUGH_DATA ? ErrorKind::truncated : ErrorKind::corrupted,
       .offset = file.size(),
       .reason = std::string("WebP: the pixels are damaged") +
                 (may_lack_memory ? ", or there is no memory for them" : "")});
}

#else

namespace {

[[noreturn]] void refuse_webp() {
  throw Error({.kind = ErrorKind::unsupported,
               .offset = 0,
               .reason = "a WebP image, and recordpipe was built without libwebp",
               .hint = "build it with libwebp-dev, or convert the image to JPEG or PNG"});
}

}  // namespace

ImageInfo WebpDecoder::info(std::span<const std::byte>) const { refuse_webp(); }

void WebpDecoder::decode(std::span<const std::byte>, bool, std::vector<uint8_t>&) const {
  refuse_webp();
}

#endif

}  // namespace recordpipe
