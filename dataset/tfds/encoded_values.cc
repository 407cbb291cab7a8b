#include "dataset/tfds/encoded_values.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "dataset/io/compression/inflate_engine.h"
#include "dataset/tfds/shapes.h"
#include "recordpipe/base/error.h"

namespace recordpipe::tfds {
namespace {

using Bytes = internal::AlignedVector<std::byte>;

// Appends the content of a zlib stream, at most `limit` bytes.
void append_inflated(std::span<const std::byte> stream, uint64_t limit, Bytes& out) {
  thread_local const std::unique_ptr<InflateEngine> engine =
      make_zlib_inflate_engine(Compression::zlib);
  engine->start_again();
  const size_t begin = out.size();
  size_t made = 0;
  while (true) {
    // One byte more than allowed shows whether there are more.
    const uint64_t room = std::min<uint64_t>(limit + 1, std::max<uint64_t>(made * 2, 64 << 10));
    out.resize(begin + room);
    const InflateStep step = engine->step(stream, std::span(out).subspan(begin + made));
    stream = stream.subspan(step.taken);
    made += step.made;
    if (step.damage) {
      throw Error({.kind = step.kind, .reason = std::string("zlib: ") + step.damage});
    }
    if (made > limit) {
      throw Error({.kind = ErrorKind::limit_exceeded,
                   .reason = "zlib: more than " + std::to_string(limit) + " bytes"});
    }
    if (step.ended) break;
    if (step.taken == 0 && step.made == 0) {
      throw Error({.kind = ErrorKind::truncated, .reason = "zlib: the stream ends too early"});
    }
  }
  if (!stream.empty()) throw Error({.kind = ErrorKind::corrupted, .reason = "zlib: bytes behind"});
  out.resize(begin + made);
}

// The decoder of a thread for images of `channels` and `bits`.
ImageDecoder& image_decoder(const DecodeOptions& options) {
  struct Cached {
    int channels;
    int bits;
    uint64_t max_pixels;
    Dct dct;
    ImageDecoder decoder;
  };
  thread_local std::vector<Cached> decoders;
  for (Cached& each : decoders) {
    if (each.channels == options.channels && each.bits == options.bits &&
        each.max_pixels == options.max_pixels && each.dct == options.dct) {
      return each.decoder;
    }
  }
  constexpr size_t kMax = 8;
  if (decoders.size() == kMax) decoders.erase(decoders.begin());
  decoders.push_back(
      {options.channels, options.bits, options.max_pixels, options.dct, ImageDecoder(options)});
  return decoders.back().decoder;
}

void append(std::span<const std::byte> bytes, Bytes& out) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

std::vector<size_t> append_tensor(const Feature& feature, std::span<const std::byte> encoded,
                                  std::span<const int64_t> stored_shape, uint64_t max_bytes,
                                  Bytes& out) {
  const size_t width = size_of(*feature.dtype);
  const std::vector<int64_t> declared =
      stored_shape.empty() ? feature.shape : merged_shape(feature.shape, stored_shape);
  const size_t begin = out.size();
  if (feature.encoding == Encoding::zlib) {
    const bool is_known = std::ranges::count(declared, kUnknown) == 0;
    const uint64_t limit = is_known ? known_size(declared, width, max_bytes) * width : max_bytes;
    append_inflated(encoded, limit, out);
  } else {
    append(encoded, out);
  }
  const size_t bytes = out.size() - begin;
  if (bytes % width != 0) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = std::to_string(bytes) + " bytes, which are no " +
                           std::string(to_string(*feature.dtype)) + "s"});
  }
  if (feature.dtype == TensorType::boolean) {
    for (std::byte& value : std::span(out).subspan(begin)) value = std::byte{value != std::byte{0}};
  }
  return completed_shape(declared, bytes / width);
}

std::vector<size_t> append_image(const Feature& feature, std::span<const std::byte> file,
                                 const ExampleOptions& options, uint64_t max_bytes, Bytes& out) {
  const bool is_float = feature.dtype == TensorType::float32;  // stored as four channels of uint8
  const bool is_wide = feature.dtype == TensorType::uint16;
  ImageDecoder& decoder =
      image_decoder({.channels = is_float ? 4 : static_cast<int>(feature.shape[2]),
                     .bits = is_wide ? 16 : 8,
                     .max_pixels = options.max_pixels,
                     .dct = options.dct});
  const auto check = [&](const ImageInfo& info) {
    const std::pair<int64_t, size_t> sides[] = {{feature.shape[0], info.height},
                                                {feature.shape[1], info.width}};
    for (const auto& [declared, actual] : sides) {
      if (declared == kUnknown || static_cast<uint64_t>(declared) == actual) continue;
      throw Error({.kind = ErrorKind::unsupported,
                   .reason = "an image of " + std::to_string(info.height) + "x" +
                             std::to_string(info.width) + ", not of the declared shape " +
                             declared_text(feature.shape)});
    }
    if ((is_wide || is_float) && info.format != ImageFileFormat::png) {
      throw Error({.kind = ErrorKind::unsupported,
                   .reason = "a " + std::string(to_string(info.format)) +
                             " file, for an image of " + std::string(to_string(*feature.dtype))});
    }
    // The decoder has checked max_pixels, so that this doesn't overflow.
    const size_t pixel = size_of(*feature.dtype) * static_cast<size_t>(feature.shape[2]);
    if (info.height * info.width > max_bytes / pixel) {
      throw Error({.kind = ErrorKind::limit_exceeded,
                   .reason = "the images of one sequence have too many pixels together"});
    }
    return ImagePart{0, 0, info.height, info.width};
  };
  const DecodedImage& image = decoder.decode(file, check);
  append(
      is_wide ? std::as_bytes(std::span(image.pixels16)) : std::as_bytes(std::span(image.pixels)),
      out);
  return {image.height, image.width, is_float ? 1 : image.channels};
}

}  // namespace recordpipe::tfds
