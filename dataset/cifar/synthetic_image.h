// Draws the synthetic images. Each shows a shape, which belongs to one of ten classes.
//
// Only the shape depends on the class. Its position, size, rotation, colours and fill are random,
// and so are the background, the occluding bars and the noise. No pixel's colour is correlated with
// the class, so a linear classifier learns almost nothing; a convolutional network can learn the
// shapes. All arithmetic is in integers: every machine draws the same images.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "recordpipe/cifar/cifar_batch.h"

namespace recordpipe {

inline constexpr std::array<std::string_view, kCifar10Classes> kSyntheticClasses = {
    "disc", "ring",     "square",    "triangle", "plus",
    "star", "crescent", "hourglass", "bars",     "corner"};

// Draws image `index` of the dataset with `seed`, channel-major, and returns its label.
uint8_t draw_synthetic_image(uint64_t seed, uint64_t index,
                             std::span<std::byte, kCifarImageSize> pixels);

}  // namespace recordpipe
