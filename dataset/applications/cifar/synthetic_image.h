// One image of the synthetic set: a shape of one of ten classes, drawn by program.
//
// The class is the shape alone. Its place, size, angle, colours and filling are random, and so are
// the background, the scraps of other things that lie over it and the noise: no pixel's colour says
// anything about the class, so that a linear classifier learns next to nothing and a convolutional
// network has something to learn. All arithmetic is in integers, so that every machine draws the
// same image.
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

// Draws image `index` of the set with `seed`, channel-major, and returns its label.
uint8_t draw_synthetic_image(uint64_t seed, uint64_t index,
                             std::span<std::byte, kCifarImageSize> pixels);

}  // namespace recordpipe
