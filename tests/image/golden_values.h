// Loads the cases in data/image/values.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "recordpipe/image/crop_window.h"

namespace recordpipe {

struct GoldenImage {
  std::string name;  // the image and the position
  nlohmann::json options;
  std::vector<uint8_t> pixels;
  std::vector<float> expected;  // NHWC
  CropWindow window;            // of `pixels`
  ImageFormat format;

  std::vector<float> array(const char* option) const { return options[option]; }
};

// Returns the images of one kind: "normalized", "per_image" or "recolored"; at least one.
std::vector<GoldenImage> golden_images(const std::string& kind);

}  // namespace recordpipe
