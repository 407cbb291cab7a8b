#include "dataset/cifar/synthetic_image.h"

#include <algorithm>
#include <cstdlib>

#include "recordpipe/base/philox.h"

namespace recordpipe {
namespace {

constexpr int kSide = 32;
constexpr int kPixels = kSide * kSide;
constexpr int kOne = 1024;  // 1.0 in fixed point, for coordinates of shapes and for sines

// Coverage is sampled at the centres of a pixel's quarters, so coordinates are in eighths of a
// pixel.
constexpr int kEighths = 8;

struct Direction {
  int cos = kOne;
  int sin = 0;
};

// 256 directions: (1, 0) rotated in steps of 1/256 of a circle.
constexpr std::array<Direction, 256> make_directions() {
  constexpr int64_t kScale = int64_t{1} << 30;
  constexpr int64_t kCos = 1073418433;  // cos(2 pi / 256) * 2^30
  constexpr int64_t kSin = 26350943;    // sin(2 pi / 256) * 2^30
  std::array<Direction, 256> directions{};
  int64_t x = kScale;
  int64_t y = 0;
  for (Direction& direction : directions) {
    direction = {static_cast<int>(x * kOne / kScale), static_cast<int>(y * kOne / kScale)};
    const int64_t turned = (x * kCos - y * kSin) / kScale;
    y = (x * kSin + y * kCos) / kScale;
    x = turned;
  }
  return directions;
}

constexpr auto kDirections = make_directions();

// Returns whether (x, y) is inside the shape of a class. Shapes are about as large as the unit
// circle, and within one of radius 1.2.
bool is_inside(int shape, int x, int y) {
  const int ax = std::abs(x);
  const int ay = std::abs(y);
  const int square = x * x + y * y;  // at most 2 * (2 * kOne)^2
  const auto within = [](int radius, int value) { return value <= radius * radius; };
  switch (shape) {
    case 0:  // disc
      return within(870, square);
    case 1:  // ring
      return within(950, square) && !within(540, square);
    case 2:  // square
      return std::max(ax, ay) <= 760;
    case 3:  // triangle: 1.73 |x| + y <= 1
      return y >= -512 && 1774 * ax / kOne + y <= kOne;
    case 4:  // plus
      return (ax <= 270 && ay <= 950) || (ay <= 270 && ax <= 950);
    case 5: {  // star: inside at least four of the five lines through its points
      int inside = 0;
      for (int i = 0; i < 5; ++i) {
        const Direction& normal = kDirections[static_cast<size_t>(256 * i / 5)];
        inside += (normal.cos * x + normal.sin * y) / kOne <= 340;
      }
      return inside >= 4;
    }
    case 6:  // crescent
      return within(950, square) && !within(800, (x - 430) * (x - 430) + y * y);
    case 7:  // hourglass
      return ax <= ay && ay <= 820;
    case 8:  // two bars
      return ax <= 850 && ay >= 280 && ay <= 740;
    default:  // corner
      return std::max(ax, ay) <= 800 && (x <= -260 || y <= -260);
  }
}

using Colour = std::array<int, 3>;

Colour random_colour(Random& random) {
  return {static_cast<int>(random.below(256)), static_cast<int>(random.below(256)),
          static_cast<int>(random.below(256))};
}

int distance(const Colour& a, const Colour& b) {
  return std::abs(a[0] - b[0]) + std::abs(a[1] - b[1]) + std::abs(a[2] - b[2]);
}

// Returns a colour that can be distinguished from `other`.
Colour contrasting_colour(Random& random, const Colour& other) {
  Colour colour = random_colour(random);
  while (distance(colour, other) < 140) colour = random_colour(random);
  return colour;
}

Colour mix(const Colour& a, const Colour& b, int part, int whole) {
  Colour mixed;
  for (size_t i = 0; i < 3; ++i) mixed[i] = a[i] + (b[i] - a[i]) * part / whole;
  return mixed;
}

using Canvas = std::array<Colour, kPixels>;

// Draws a gradient between two colours, with a superimposed wave.
void draw_background(Random& random, const Colour& colour, Canvas& canvas) {
  const Colour other = mix(colour, random_colour(random), 1, 3);
  const Direction across = kDirections[random.below(256)];
  const Direction wave = kDirections[random.below(256)];
  const int frequency = 4 + static_cast<int>(random.below(28));
  const int height = static_cast<int>(random.below(28));
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const int along = (x - 16) * across.cos + (y - 16) * across.sin;
      const int phase = ((x * wave.cos + y * wave.sin) * frequency / kOne) & 255;
      Colour& pixel = canvas[static_cast<size_t>(y * kSide + x)];
      pixel = mix(colour, other, along + 23 * kOne, 46 * kOne);
      for (int& channel : pixel) {
        channel += height * kDirections[static_cast<size_t>(phase)].sin / kOne;
      }
    }
  }
}

// Position, size, rotation and fill of a shape.
struct Figure {
  int shape;
  int x, y, radius;  // in eighths of a pixel
  Direction angle;
  Colour colour, second;
  int stripes;  // stripes per unit length, in fixed point; 0: none
};

void draw_figure(const Figure& figure, Canvas& canvas) {
  const int64_t per_radius = (int64_t{1} << 20) / figure.radius;  // avoids thousands of divisions
  const int reach = 5 * figure.radius / 4;
  const auto first = [&](int centre) { return std::max(0, (centre - reach) / kEighths - 1); };
  const auto last = [&](int centre) { return std::min(kSide, (centre + reach) / kEighths + 1); };
  for (int y = first(figure.y); y < last(figure.y); ++y) {
    for (int x = first(figure.x); x < last(figure.x); ++x) {
      int covered = 0;
      int striped = 0;
      for (int quarter = 0; quarter < 4; ++quarter) {
        const int dx = x * kEighths + 2 + 4 * (quarter & 1) - figure.x;
        const int dy = y * kEighths + 2 + 4 * (quarter >> 1) - figure.y;
        if (std::max(std::abs(dx), std::abs(dy)) > reach) continue;
        const auto scaled = [&](int along) { return static_cast<int>(along * per_radius >> 20); };
        const int u = scaled(dx * figure.angle.cos + dy * figure.angle.sin);
        const int v = scaled(dy * figure.angle.cos - dx * figure.angle.sin);
        if (!is_inside(figure.shape, u, v)) continue;
        ++covered;
        striped += (u * figure.stripes >> 20) & 1;
      }
      if (covered == 0) continue;
      Colour& pixel = canvas[static_cast<size_t>(y * kSide + x)];
      pixel = mix(pixel, mix(figure.colour, figure.second, striped, covered), covered, 4);
    }
  }
}

// Draws thin bars in random colours over the shape and the background.
void draw_scraps(Random& random, Canvas& canvas) {
  for (uint32_t left = random.below(4); left > 0; --left) {
    const Colour colour = random_colour(random);
    const int cx = static_cast<int>(random.below(kSide));
    const int cy = static_cast<int>(random.below(kSide));
    const int length = 3 + static_cast<int>(random.below(8));
    const Direction along = kDirections[random.below(256)];
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const int u = ((x - cx) * along.cos + (y - cy) * along.sin) / kOne;
        const int v = ((y - cy) * along.cos - (x - cx) * along.sin) / kOne;
        if (std::abs(u) <= length && v == 0) canvas[static_cast<size_t>(y * kSide + x)] = colour;
      }
    }
  }
}

// The sum of four random bytes approximates a normal distribution with mean 510 and standard
// deviation 148.
int noise(Random& random, int deviation) {
  const uint32_t bits = random();
  const auto sum =
      static_cast<int>((bits & 255) + (bits >> 8 & 255) + (bits >> 16 & 255) + (bits >> 24)) - 510;
  return sum * deviation / 148;
}

}  // namespace

uint8_t draw_synthetic_image(uint64_t seed, uint64_t index,
                             std::span<std::byte, kCifarImageSize> pixels) {
  constexpr uint64_t kStream = 0x73796e74;  // "synt"
  Random random(derive_key(seed, kStream), 0, index);
  const auto label = static_cast<uint8_t>(random.below(kCifar10Classes));

  const Colour ground = random_colour(random);
  Canvas canvas;
  draw_background(random, ground, canvas);
  const Colour colour = contrasting_colour(random, ground);
  draw_figure(
      {.shape = label,
       .x = (12 * kEighths) + static_cast<int>(random.below(8 * kEighths)),
       .y = (12 * kEighths) + static_cast<int>(random.below(8 * kEighths)),
       .radius = 6 * kEighths + static_cast<int>(random.below(7 * kEighths)),
       .angle = kDirections[random.below(256)],
       .colour = colour,
       .second = contrasting_colour(random, ground),
       .stripes = random.below(2) == 0 ? 0 : 2 * kOne + static_cast<int>(random.below(4 * kOne))},
      canvas);
  draw_scraps(random, canvas);

  const int deviation = 6 + static_cast<int>(random.below(30));
  for (size_t channel = 0; channel < 3; ++channel) {
    for (size_t i = 0; i < kPixels; ++i) {
      const int value = canvas[i][channel] + noise(random, deviation);
      pixels[channel * kPixels + i] = static_cast<std::byte>(std::clamp(value, 0, 255));
    }
  }
  return label;
}

}  // namespace recordpipe
