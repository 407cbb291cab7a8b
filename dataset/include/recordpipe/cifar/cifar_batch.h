// One batch file's images and labels, as every kind of archive holds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace recordpipe {

enum class CifarDataset { cifar10, cifar100 };

// 32 x 32 pixels, channel-major: 1024 red, 1024 green, 1024 blue, row by row.
inline constexpr size_t kCifarImageSize = 3072;
// The most images one batch file may hold: CIFAR-100's training file has this many.
inline constexpr size_t kMaxCifarRows = 50'000;

// Labels are smaller than these.
inline constexpr int kCifar10Classes = 10;
inline constexpr int kCifar100Classes = 100;
inline constexpr int kCifar100Superclasses = 20;

struct CifarBatch {
  std::vector<uint8_t> labels;         // CIFAR-10: 0..9; CIFAR-100: the fine labels, 0..99
  std::vector<uint8_t> coarse_labels;  // CIFAR-100: 0..19, one for each label; CIFAR-10: empty
  std::unique_ptr<std::byte[]> pixels = {};  // rows() images

  size_t rows() const { return labels.size(); }
  std::span<const std::byte, kCifarImageSize> image(size_t row) const {
    return std::span<const std::byte, kCifarImageSize>(pixels.get() + row * kCifarImageSize,
                                                       kCifarImageSize);
  }
};

}  // namespace recordpipe
