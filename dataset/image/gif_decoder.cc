// Decodes the first frame of GIF files (GIF89a), which is all that an animation has for a batch of
// images.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "dataset/image/image_decoders.h"
#include "dataset/image/little_endian_reader.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxGifCodes = 4096;
constexpr int kMaxGifCodeWidth = 12;  // of a code, in bits
// A code of at least 3 bits stands for at most so many pixels.
constexpr uint64_t kMaxGifPixelsPerByte = uint64_t{kMaxGifCodes} * 8 / 3;

struct GifFrame {
  size_t left = 0, top = 0, width = 0, height = 0;
  bool interlaced = false;
  std::span<const std::byte> palette = {};  // three bytes a colour; empty: grey
  std::optional<size_t> transparent = {};   // the colour that is
};

class GifFile {
 public:
  explicit GifFile(std::span<const std::byte> file) : in_(file, "GIF") {
    in_.skip(6);  // "GIF89a"
    width_ = in_.number(2);
    height_ = in_.number(2);
    const uint32_t flags = in_.number(1);
    in_.skip(2);  // the background, and the shape of pixels
    frame_.palette = palette(flags);
    find_frame();
    // Some files name no size, or a smaller one.
    width_ = std::max(width_, frame_.left + frame_.width);
    height_ = std::max(height_, frame_.top + frame_.height);
  }

  ImageInfo info() const {
    return {.format = ImageFileFormat::gif,
            .height = height_,
            .width = width_,
            .channels = frame_.transparent ? size_t{4} : size_t{3}};
  }
  const GifFrame& frame() const { return frame_; }

  // The numbers of the colours, in the order of the file; those that are missing are 0.
  std::vector<uint8_t> colours(bool accept_damaged) {
    std::vector<uint8_t> out(frame_.width * frame_.height);
    size_t done = 0;
    try {
      done = inflate(out);
      if (done == out.size()) skip_to_end();
    } catch (const Error&) {
      if (!accept_damaged) throw;
    }
    if (done < out.size() && !accept_damaged) in_.fail("the frame has too few pixels");
    return out;
  }

 private:
  std::span<const std::byte> palette(uint32_t flags) {
    return flags & 0x80 ? in_.bytes(size_t{3} << ((flags & 7) + 1)) : std::span<const std::byte>();
  }

  void skip_blocks() {
    while (const size_t size = in_.number(1)) in_.skip(size);
  }

  void find_frame() {
    for (uint32_t block = in_.number(1); block != ','; block = in_.number(1)) {
      if (block != '!') in_.fail("no frame, but a block of an unknown kind");
      if (in_.number(1) == 0xF9) {  // graphic control
        const auto control = in_.bytes(in_.number(1));
        if (control.size() >= 4) {
          const bool has_one = (std::to_integer<unsigned>(control[0]) & 1) != 0;
          frame_.transparent.reset();
          if (has_one) frame_.transparent = std::to_integer<size_t>(control[3]);
        }
      }
      skip_blocks();
    }
    frame_.left = in_.number(2);
    frame_.top = in_.number(2);
    frame_.width = in_.number(2);
    frame_.height = in_.number(2);
    const uint32_t flags = in_.number(1);
    frame_.interlaced = (flags & 0x40) != 0;
    if (flags & 0x80) frame_.palette = palette(flags);
    if (frame_.width == 0 || frame_.height == 0) in_.fail("a frame without pixels");
  }

  // A file that was cut, also behind its first frame, is damaged.
  void skip_to_end() {
    while (true) {
      const uint32_t block = in_.number(1);
      if (block == '!') {
        in_.skip(1);
      } else if (block == ',') {
        in_.skip(8);
        palette(in_.number(1));
        in_.skip(1);  // the width of codes
      } else {
        return;
      }
      skip_blocks();
    }
  }

  // LZW with codes of growing widths, in blocks of up to 255 bytes. Returns the number of pixels.
  size_t inflate(std::vector<uint8_t>& out) {
    const auto least = static_cast<int>(in_.number(1));
    if (least < 1 || least > 8) in_.fail("codes of " + std::to_string(least) + " bits");
    const size_t clear = size_t{1} << least, end = clear + 1;
    std::array<uint16_t, kMaxGifCodes> before{};
    std::array<uint8_t, kMaxGifCodes> last{};
    std::array<uint8_t, kMaxGifCodes + 1> word{};  // backwards
    for (size_t code = 0; code < clear; ++code) last[code] = static_cast<uint8_t>(code);
    size_t next = end + 1, previous = kMaxGifCodes, done = 0, left = 0;
    int width = least + 1;
    uint8_t first = 0;
    uint32_t bits = 0;
    int count = 0;
    while (true) {
      while (count < width) {
        if (left == 0) left = in_.number(1);
        if (left == 0) return done;  // the end of the blocks
        bits |= in_.number(1) << count;
        count += 8;
        --left;
      }
      const size_t code = bits & ((uint32_t{1} << width) - 1);
      bits >>= width;
      count -= width;
      if (code == end) break;
      if (code == clear) {
        next = end + 1;
        width = least + 1;
        previous = kMaxGifCodes;
        continue;
      }
      const bool is_new = code >= next;
      if (code > next || (is_new && previous == kMaxGifCodes)) in_.fail("a code without meaning");
      size_t length = 0;
      size_t at = is_new ? previous : code;
      if (is_new) word[length++] = first;
      while (at > end) {
        word[length++] = last[at];
        at = before[at];
      }
      first = last[at];
      word[length++] = first;
      while (length > 0 && done < out.size()) out[done++] = word[--length];
      if (done == out.size()) break;
      if (previous != kMaxGifCodes && next < kMaxGifCodes) {
        before[next] = static_cast<uint16_t>(previous);
        last[next] = first;
        ++next;
        if (next == size_t{1} << width && width < kMaxGifCodeWidth) ++width;
      }
      previous = code;
    }
    in_.skip(left);
    skip_blocks();
    return done;
  }

  LittleEndianReader in_;
  size_t width_ = 0, height_ = 0;
  GifFrame frame_;
};

// The rows of a frame in the order of the file.
std::vector<size_t> gif_rows(const GifFrame& frame) {
  std::vector<size_t> rows;
  if (!frame.interlaced) {
    for (size_t y = 0; y < frame.height; ++y) rows.push_back(y);
    return rows;
  }
  constexpr std::pair<size_t, size_t> kPasses[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
  for (const auto& [begin, step] : kPasses) {
    for (size_t y = begin; y < frame.height; y += step) rows.push_back(y);
  }
  return rows;
}

}  // namespace

ImageInfo GifDecoder::info(std::span<const std::byte> file) const { return GifFile(file).info(); }

void GifDecoder::decode(std::span<const std::byte> file, bool accept_damaged,
                        std::vector<uint8_t>& rgba) const {
  GifFile gif(file);
  const ImageInfo info = gif.info();
  const GifFrame& frame = gif.frame();
  // The canvas around the frame takes as much memory.
  if (info.width * info.height / kMaxGifPixelsPerByte > file.size() && !accept_damaged) {
    throw too_few_bytes("GIF", file.size(), info);
  }
  const std::vector<uint8_t> colours = gif.colours(accept_damaged);
  rgba.assign(info.height * info.width * 4, 0);
  const uint8_t* from = colours.data();
  for (const size_t y : gif_rows(frame)) {
    uint8_t* to = rgba.data() + ((frame.top + y) * info.width + frame.left) * 4;
    for (size_t x = 0; x < frame.width; ++x, ++from, to += 4) {
      const size_t colour = *from;
      for (size_t c = 0; c < 3; ++c) {
        const size_t at = colour * 3 + c;
        to[c] = frame.palette.empty()       ? *from
                : at < frame.palette.size() ? std::to_integer<uint8_t>(frame.palette[at])
                                            : uint8_t{0};
      }
      to[3] = colour == frame.transparent ? 0 : 255;
    }
  }
}

}  // namespace recordpipe
