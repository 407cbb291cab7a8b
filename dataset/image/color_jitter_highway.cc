// Changes colours with Google Highway (https://github.com/google/highway): vector code, compiled
// for each instruction set and dispatched at run time. Neighbouring values of a plane are the
// lanes.
#include "dataset/image/color_jitter_implementations.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dataset/image/color_jitter_highway.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace recordpipe::internal {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // a processor without vectors

void change_colors(std::span<uint8_t> planes, size_t channels, const ColorJitter& jitter) {
  color_jitter_portable(planes, channels, jitter);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using Ints = hn::Rebind<int32_t, Floats>;
using Bytes = hn::Rebind<uint8_t, Floats>;
using Vector = hn::Vec<Floats>;

constexpr size_t kMaxLanes = 16;

HWY_INLINE Vector load(const uint8_t* from) {
  return hn::ConvertTo(Floats(), hn::PromoteTo(Ints(), hn::LoadU(Bytes(), from)));
}

// `values` are 0 to 256.
HWY_INLINE void store(Vector values, uint8_t* to) {
  hn::StoreU(hn::DemoteTo(Bytes(), hn::ConvertTo(Ints(), values)), Bytes(), to);
}

HWY_INLINE Vector clamped(Vector values, float high) {
  const Floats d;
  return hn::Min(hn::Max(values, hn::Zero(d)), hn::Set(d, high));
}

HWY_INLINE Vector grey(Vector red, Vector green, Vector blue) {
  const Floats d;
  const auto sum = hn::Add(hn::Mul(red, hn::Set(d, kRed)), hn::Mul(green, hn::Set(d, kGreen)));
  return hn::Floor(hn::Add(sum, hn::Mul(blue, hn::Set(d, kBlue))));
}

// Calls change(r, g, b), pointers to whole vectors, for all pixels; the last ones in a copy.
template <class Change>
HWY_INLINE void for_each_vector(uint8_t* red, uint8_t* green, uint8_t* blue, size_t size,
                                const Change& change) {
  const size_t lanes = hn::Lanes(Floats());
  size_t i = 0;
  for (; i + lanes <= size; i += lanes) change(red + i, green + i, blue + i);
  if (i == size) return;
  uint8_t last[3][kMaxLanes] = {};
  uint8_t* const planes[] = {red + i, green + i, blue + i};
  for (size_t c = 0; c < 3; ++c) std::copy_n(planes[c], size - i, last[c]);
  change(last[0], last[1], last[2]);
  for (size_t c = 0; c < 3; ++c) std::copy_n(last[c], size - i, planes[c]);
}

struct Vectors {
  static void blend(std::span<uint8_t> planes, float with, float factor) {
    const Floats d;
    const size_t lanes = hn::Lanes(d);
    const float add = with * (1.0f - factor);
    size_t i = 0;
    for (; i + lanes <= planes.size(); i += lanes) {
      const auto value = hn::Mul(load(planes.data() + i), hn::Set(d, factor));
      store(clamped(hn::Add(value, hn::Set(d, add)), 255.0f), planes.data() + i);
    }
    for (; i < planes.size(); ++i) {
      planes[i] = byte_of(static_cast<float>(planes[i]) * factor + add);
    }
  }

  static uint64_t sum_of_greys(const uint8_t* red, const uint8_t* green, const uint8_t* blue,
                               size_t size) {
    const size_t lanes = hn::Lanes(Floats());
    uint64_t sum = 0;
    size_t i = 0;
    while (i + lanes <= size) {
      // A lane holds the sum of this many values.
      const size_t end = std::min(size, i + lanes * (size_t{1} << 22));
      auto sums = hn::Zero(Ints());
      for (; i + lanes <= end; i += lanes) {
        const auto greys = grey(load(red + i), load(green + i), load(blue + i));
        sums = hn::Add(sums, hn::ConvertTo(Ints(), greys));
      }
      int32_t each[kMaxLanes];
      hn::StoreU(sums, Ints(), each);
      for (size_t lane = 0; lane < lanes; ++lane) sum += static_cast<uint64_t>(each[lane]);
    }
    for (; i < size; ++i) sum += static_cast<uint64_t>(grey_of(red[i], green[i], blue[i]));
    return sum;
  }

  static void blend_with_grey(uint8_t* red, uint8_t* green, uint8_t* blue, size_t size,
                              float factor) {
    const Floats d;
    for_each_vector(red, green, blue, size, [&](uint8_t* r, uint8_t* g, uint8_t* b) HWY_ATTR {
      const auto by = hn::Set(d, factor);
      const auto add = hn::Mul(grey(load(r), load(g), load(b)), hn::Set(d, 1.0f - factor));
      store(clamped(hn::Add(hn::Mul(load(r), by), add), 255.0f), r);
      store(clamped(hn::Add(hn::Mul(load(g), by), add), 255.0f), g);
      store(clamped(hn::Add(hn::Mul(load(b), by), add), 255.0f), b);
    });
  }

  // turn_hue() of a vector of pixels.
  static void turn_hues(uint8_t* red, uint8_t* green, uint8_t* blue, size_t size, float turn) {
    for_each_vector(red, green, blue, size, [turn](uint8_t* r, uint8_t* g, uint8_t* b) HWY_ATTR {
      turn_vector(r, g, b, turn);
    });
  }

 private:
  static HWY_INLINE void turn_vector(uint8_t* red, uint8_t* green, uint8_t* blue, float turn) {
    const Floats d;
    const auto full = hn::Set(d, 255.0f);
    const auto one = hn::Set(d, 1.0f);
    const auto r = hn::Div(load(red), full);
    const auto g = hn::Div(load(green), full);
    const auto b = hn::Div(load(blue), full);
    const auto most = hn::Max(hn::Max(r, g), b);
    const auto range = hn::Sub(most, hn::Min(hn::Min(r, g), b));
    const auto is_grey = hn::Eq(range, hn::Zero(d));
    const auto saturation = hn::Div(range, hn::IfThenElse(is_grey, one, most));
    const auto divisor = hn::IfThenElse(is_grey, one, range);
    const auto rc = hn::Div(hn::Sub(most, r), divisor);
    const auto gc = hn::Div(hn::Sub(most, g), divisor);
    const auto bc = hn::Div(hn::Sub(most, b), divisor);
    const auto if_green = hn::Sub(hn::Add(rc, hn::Set(d, 2.0f)), bc);
    const auto if_blue = hn::Sub(hn::Add(gc, hn::Set(d, 4.0f)), rc);
    const auto sixths = hn::IfThenElse(hn::Eq(most, r), hn::Sub(bc, gc),
                                       hn::IfThenElse(hn::Eq(most, g), if_green, if_blue));
    auto hue = hn::Add(hn::Mul(sixths, hn::Set(d, 1.0f / 6.0f)), one);
    hue = hn::Sub(hue, hn::Floor(hue));
    hue = hn::Add(hue, hn::Set(d, turn));
    hue = hn::Sub(hue, hn::Floor(hue));
    const auto h6 = hn::Mul(hue, hn::Set(d, 6.0f));
    const auto sector = hn::Floor(h6);
    const auto sf = hn::Mul(saturation, hn::Sub(h6, sector));
    const auto grey_part = hn::Sub(one, saturation);
    const auto q = clamped(hn::Mul(hn::Sub(one, sf), most), 1.0f);
    const auto t = clamped(hn::Mul(hn::Add(sf, grey_part), most), 1.0f);
    const auto p = clamped(hn::Mul(grey_part, most), 1.0f);
    const auto is = [&](float number) HWY_ATTR { return hn::Eq(sector, hn::Set(d, number)); };
    const auto is0 = hn::Or(is(0), is(6));
    const auto is1 = is(1), is2 = is(2), is3 = is(3), is4 = is(4);
    const auto to_byte = hn::Set(d, kToByte);
    const auto out_red =
        hn::IfThenElse(is1, q, hn::IfThenElse(hn::Or(is2, is3), p, hn::IfThenElse(is4, t, most)));
    const auto out_green =
        hn::IfThenElse(is0, t, hn::IfThenElse(hn::Or(is1, is2), most, hn::IfThenElse(is3, q, p)));
    const auto out_blue = hn::IfThenElse(
        hn::Or(is0, is1), p, hn::IfThenElse(is2, t, hn::IfThenElse(hn::Or(is3, is4), most, q)));
    store(hn::Mul(out_red, to_byte), red);
    store(hn::Mul(out_green, to_byte), green);
    store(hn::Mul(out_blue, to_byte), blue);
  }
};

void change_colors(std::span<uint8_t> planes, size_t channels, const ColorJitter& jitter) {
  apply_changes<Vectors>(planes, channels, jitter);
}

#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace recordpipe::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace recordpipe::internal {
namespace {

HWY_EXPORT(change_colors);

}  // namespace

void color_jitter_highway(std::span<uint8_t> planes, size_t channels, const ColorJitter& jitter) {
  HWY_DYNAMIC_DISPATCH(change_colors)(planes, channels, jitter);
}

}  // namespace recordpipe::internal
#endif
