// The cases of data/image/values.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "recordpipe/image/crop_window.h"

namespace recordpipe {

struct GoldenImage {
  std::string name;  // of the image and the position
  nlohmann::json options;
  std::vector<uint8_t> pixels;
  std::vector<float> expected;  // NHWC
  CropWindow window;            // of `pixels`
  ImageFormat format;

  std::vector<float> array(const char* option) const { return options[option]; }
};

// The images of one kind: "normalized", "per_image" or "recolored". At least one.
std::vector<GoldenImage> golden_images(const std::string& kind);

}  // namespace recordpipe
