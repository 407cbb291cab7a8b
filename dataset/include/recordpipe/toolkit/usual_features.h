// Lists the usual names of images and labels in data sets. By default, the first of these names
// that a record has is used.
#pragma once

#include <array>
#include <string_view>

namespace recordpipe {

inline constexpr std::array<std::string_view, 5> kUsualImageFeatures = {
    "image/encoded", "image", "image_raw", "image/raw", "img",
};

// The text of a class comes before its number.
inline constexpr std::array<std::string_view, 9> kUsualLabelFeatures = {
    "image/class/text",
    "label",
    "image/class/label",
    "labels",
    "class",
    "target",
    "y",
    "fine_label",
    "image/object/class/text",
};

}  // namespace recordpipe
