// Decodes image files, and prints their numbers of channels and values.
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "recordpipe/image/decode_image.h"

int main(int, char** argv) {
  for (const char* const* path = argv + 1; *path; ++path) {
    std::ifstream file(*path, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    const auto image = recordpipe::decode_image(std::as_bytes(std::span(bytes)));
    std::printf("%zu channels, %zu values\n", image.channels, image.pixels.size());
  }
}
