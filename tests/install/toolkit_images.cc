// Makes the image of a record smaller.
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/toolkit/feature_edit.h"
#include "recordpipe/toolkit/resize_images.h"

using namespace recordpipe;

int main(int, char** arguments) {
  std::ifstream file(arguments[1], std::ios::binary);
  const std::string image(std::istreambuf_iterator<char>(file), {});
  const std::string record = ExampleBuilder().set_bytes("image", image).serialize();
  const EditedMessage edited =
      edit_features(std::as_bytes(std::span(record)), resize_images({.short_side = 4}));
  size_t size = 0;
  for (const auto& piece : edited.pieces) size += piece.size();
  std::printf("%s\n", size < record.size() ? "smaller" : "not smaller");
}
