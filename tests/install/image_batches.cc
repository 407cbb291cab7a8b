// Resizes image files to one size, as a batch.
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "recordpipe/image/batches/example_images.h"
#include "recordpipe/image/batches/image_column.h"

int main(int count, char** argv) {
  const recordpipe::ImageColumnCollator images(
      {.source = recordpipe::DecodeOptions{.channels = 3},
       .distortion = recordpipe::ResizeAndCrop{.to = recordpipe::ImageSize{8, 8}}});
  recordpipe::ImageColumn column;
  images.reset(column, static_cast<std::size_t>(count - 1));
  for (int i = 1; i < count; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    images.set(column, static_cast<std::size_t>(i - 1), std::as_bytes(std::span(bytes)),
               recordpipe::Random(0, 0, 0));
  }
  images.finish(column);
  const recordpipe::ImageFormat& format = column.batch.format();
  std::printf("%zux%zu, %zu images\n", format.height, format.width, column.batch.size());
}
