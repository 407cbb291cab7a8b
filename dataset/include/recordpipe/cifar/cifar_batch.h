// The images and labels of one batch file, common to all archive kinds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace recordpipe {

enum class CifarDataset { cifar10, cifar100 };

// 32 x 32 pixels, channel-major: 1024 red, 1024 green, 1024 blue, row-major.
inline constexpr size_t kCifarImageSize = 3072;
// The maximum number of images in a batch file: the size of CIFAR-100's training file.
inline constexpr size_t kMaxCifarRows = 50'000;

// Numbers of classes; each label is less than its number of classes.
inline constexpr int kCifar10Classes = 10;
inline constexpr int kCifar100Classes = 100;
inline constexpr int kCifar100Superclasses = 20;

struct CifarBatch {
  std::vector<uint8_t> labels;               // CIFAR-10: 0..9; CIFAR-100: the fine labels, 0..99
  std::vector<uint8_t> coarse_labels;        // CIFAR-100: 0..19, one per image; CIFAR-10: empty
  std::unique_ptr<std::byte[]> pixels = {};  // rows() images

  size_t rows() const { return labels.size(); }
  std::span<const std::byte, kCifarImageSize> image(size_t row) const {
    return std::span<const std::byte, kCifarImageSize>(pixels.get() + row * kCifarImageSize,
                                                       kCifarImageSize);
  }
};

// The class names of CIFAR-10, by label.
inline constexpr std::array<std::string_view, 10> kCifar10ClassNames = {
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};

}  // namespace recordpipe
