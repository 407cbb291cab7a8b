#include "tests/image/golden_values.h"

#include <fstream>
#include <stdexcept>

namespace recordpipe {

std::vector<GoldenImage> golden_images(const std::string& kind) {
  std::ifstream file(RECORDPIPE_DATA_DIR "/image/values.json");
  std::vector<GoldenImage> images;
  for (const nlohmann::json& options : nlohmann::json::parse(file)) {
    if (options["kind"] != kind) continue;
    GoldenImage image;
    image.options = options;
    image.name = options["image_name"].get<std::string>() + " from " + options["top"].dump() +
                 ", " + options["left"].dump();
    image.pixels = options["image"].get<std::vector<uint8_t>>();
    image.expected = options["expected"].get<std::vector<float>>();
    image.window = {.image = image.pixels.data(),
                    .image_height = options["image_height"],
                    .image_width = options["image_width"],
                    .top = options["top"],
                    .left = options["left"],
                    .flip = options["flip"]};
    image.format = {.height = options["height"], .width = options["width"]};
    images.push_back(std::move(image));
  }
  if (images.empty()) throw std::runtime_error("no golden images of the kind " + kind);
  return images;
}

}  // namespace recordpipe
