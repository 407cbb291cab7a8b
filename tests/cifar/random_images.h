// Writes files of random images and makes batches comparable, for the tests of CIFAR-10's batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/base/philox.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/image/image_batch.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"

namespace recordpipe {

struct Image {
  std::vector<uint8_t> pixels;
  int32_t label = 0;
};

inline Image image_of(uint64_t i) {
  Random random(derive_key(11, 0), 0, i);
  Image image{std::vector<uint8_t>(3072), static_cast<int32_t>(i * 7 % 10)};
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(random() >> 24);
  return image;
}

inline std::string example_of(const Image& image) {
  return ExampleBuilder()
      .set_bytes("image", std::as_bytes(std::span(image.pixels)))
      .set_int64("label", image.label)
      .serialize();
}

// The content of a batch, for comparison.
struct Bytes {
  std::vector<std::byte> pixels;
  std::vector<int32_t> labels;
  bool operator==(const Bytes&) const = default;
};

inline Bytes bytes_of(const ImageBatch& batch) {
  return {{batch.bytes().begin(), batch.bytes().end()},
          {batch.labels().begin(), batch.labels().end()}};
}

// Writes images first, first + 1, ... to `path`, which it returns.
inline std::string write_images(const std::string& path, uint64_t first, uint64_t count,
                                Compression compression = Compression::none) {
  RecordWriter writer(posix_file_system(), path, {.compression = compression});
  for (uint64_t i = first; i < first + count; ++i) writer.write(as_bytes(example_of(image_of(i))));
  writer.close();
  return path;
}

}  // namespace recordpipe
