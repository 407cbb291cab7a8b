// Tests given and guessed shapes and layouts of raw pixels.
#include "recordpipe/toolkit/pixel_guess.h"

#include <array>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/image/decode_image.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;

// Draws a scene of soft shapes with saturation `colour`, from 0 (grey) to 1, in either layout.
std::string scene(const PixelShape& shape, PixelLayout layout, double colour) {
  std::string pixels(shape.bytes(), '\0');
  for (size_t y = 0; y < shape.height; ++y) {
    for (size_t x = 0; x < shape.width; ++x) {
      for (size_t c = 0; c < shape.channels; ++c) {
        const double light = std::sin(0.31 * double(x) + 0.1 * double(y)) +
                             std::cos(0.23 * double(y) - 0.05 * double(x)) +
                             colour * std::sin(double(c) * 2 + 0.1 * double(x));
        const size_t place = y * shape.width + x;
        pixels[layout == PixelLayout::planar ? c * shape.height * shape.width + place
                                             : place * shape.channels + c] =
            static_cast<char>(static_cast<uint8_t>(128 + 40 * light));
      }
    }
  }
  return pixels;
}

class PixelGuessTest : public testing::Test {
 protected:
  // Returns the pixels of the PNG file that `guess` makes from `pixels`.
  std::vector<uint8_t> shown(PixelGuess& guess, const std::string& pixels) {
    const auto shape = guess.shape_of(MessageView(), pixels.size());
    return decode_image(guess.png(as_bytes(pixels), shape.value())).pixels;
  }
  static std::vector<uint8_t> as_pixels(const std::string& text) {
    return {text.begin(), text.end()};
  }
};

TEST_F(PixelGuessTest, TellsTheLayoutByTheFirstImage) {
  const PixelShape shape{32, 32, 3};
  // Even with little colour, when adjacent bytes are similar in either layout.
  for (const double colour : {0.0, 0.1, 0.5, 1.0}) {
    const std::string interleaved = scene(shape, PixelLayout::interleaved, colour);
    for (const PixelLayout layout : {PixelLayout::planar, PixelLayout::interleaved}) {
      PixelGuess guess;
      EXPECT_EQ(shown(guess, scene(shape, layout, colour)), as_pixels(interleaved)) << colour;
      EXPECT_THAT(guess.how(), HasSubstr(layout == PixelLayout::planar ? "planar" : "interleaved"));
      EXPECT_TRUE(guess.is_guess());
      // The first guess applies to all later images.
      const std::string noise = scene(shape, PixelLayout::planar, 0.7);
      const bool is_same = shown(guess, noise) == as_pixels(noise);
      EXPECT_EQ(is_same, layout == PixelLayout::interleaved);
    }
  }
}

TEST_F(PixelGuessTest, LeavesTheLayoutOpenWhileImagesAreOfOneColour) {
  PixelGuess guess;
  const PixelShape shape{32, 32, 3};
  const std::string black(3072, '\0');
  EXPECT_EQ(shown(guess, black), as_pixels(black));
  EXPECT_EQ(guess.how(), "32 x 32 x 3; guessed from 3072 bytes, as in CIFAR");
  EXPECT_EQ(shown(guess, scene(shape, PixelLayout::planar, 1)),
            as_pixels(scene(shape, PixelLayout::interleaved, 1)));
  EXPECT_EQ(guess.how(),
            "32 x 32 x 3, planar (chw); guessed from 3072 bytes, as in CIFAR; the layout guessed "
            "from the first image");
}

TEST_F(PixelGuessTest, TakesWhatIsSaid) {
  PixelGuess guess(
      {.shape = PixelShape{2, 1, 3}, .layout = PixelLayout::planar, .shape_called = "--shape"});
  EXPECT_EQ(guess.how(), "");
  EXPECT_EQ(shown(guess, std::string("\0\1\2\3\4\5", 6)), (std::vector<uint8_t>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(guess.how(), "2 x 1 x 3, planar (chw); as --shape says");
  EXPECT_FALSE(guess.is_guess());
  EXPECT_FALSE(guess.shape_of(MessageView(), 7));
  EXPECT_EQ(guess.misfit(7), "7 bytes, not the 6 of 2x1x3");
}

TEST_F(PixelGuessTest, KnowsShapesBySize) {
  const auto shape_of = [](size_t bytes) {
    const auto shape = PixelGuess().shape_of(MessageView(), bytes);
    return shape ? std::array{shape->pixels.height, shape->pixels.width, shape->pixels.channels}
                 : std::array<size_t, 3>{};
  };
  EXPECT_EQ(shape_of(784), (std::array<size_t, 3>{28, 28, 1}));
  EXPECT_EQ(shape_of(3072), (std::array<size_t, 3>{32, 32, 3}));
  EXPECT_EQ(shape_of(300 * 300 * 3), (std::array<size_t, 3>{300, 300, 3}));
  EXPECT_EQ(shape_of(50 * 50), (std::array<size_t, 3>{50, 50, 1}));
  for (const size_t none : {0u, 1u, 12u, 192u, 255u, 785u, 3071u}) {
    EXPECT_EQ(shape_of(none), (std::array<size_t, 3>{})) << none;
  }
}

TEST_F(PixelGuessTest, BelievesTheRecordWhereItFits) {
  const auto shape_of = [](int64_t height, int64_t width) {
    const std::string record = ExampleBuilder()
                                   .set_int64("image/height", height)
                                   .set_int64("image/width", width)
                                   .serialize();
    MessageView message;
    message.read(as_bytes(record));
    const auto shape = PixelGuess().shape_of(message, 60);
    return shape ? shape->pixels.bytes() / 60 * shape->pixels.channels : 0;
  };
  EXPECT_EQ(shape_of(4, 5), 3u);
  EXPECT_EQ(shape_of(6, 10), 1u);
  for (const int64_t side : {int64_t{0}, int64_t{-1}, int64_t{7}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(shape_of(side, side), 0u) << side;
  }
  EXPECT_EQ(shape_of(2, 3), 0u);  // ten channels
}

}  // namespace
}  // namespace recordpipe
