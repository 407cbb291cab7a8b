// The class names of CIFAR-10, by label.
#pragma once

#include <array>
#include <string_view>

namespace recordpipe {

inline constexpr std::array<std::string_view, 10> kCifar10ClassNames = {
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};

}  // namespace recordpipe
