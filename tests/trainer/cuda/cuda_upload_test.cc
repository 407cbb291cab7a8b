// Queues uploads faster than the device consumes them, without waits in between. Each batch must
// arrive intact.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "trainer/backend/cuda/upload.h"

namespace recordpipe::cuda {
namespace {

TEST(CudaUpload, MixesUpNoBatchesThatAreSentOneAfterTheOther) {
  constexpr size_t images = 64, batches = 9;
  const Device device({.workspace_bytes = 0});
  device.activate();
  Tensor input(images, {.channels = 3, .height = 16, .width = 16}, Element::float32);
  Upload upload(device, {.scale = 1, .shift = 0}, input);
  // Copies of the network's inputs, kept on the device.
  std::vector<Buffer> seen, labels;
  for (size_t i = 0; i < batches; ++i) {
    seen.emplace_back(input.bytes());
    labels.emplace_back(images * sizeof(int32_t));
  }
  device.synchronize();

  ImageBatch batch;
  batch.reset({.height = 16, .width = 16, .dtype = DType::uint8}, images);
  for (size_t i = 0; i < batches; ++i) {
    for (size_t image = 0; image < images; ++image) {
      batch.set_label(image, static_cast<int32_t>(i));
      std::fill_n(batch.image_at(image), batch.format().bytes_per_image(),
                  static_cast<std::byte>(i + 1));
    }
    upload.send(batch);
    copy_on_device(seen[i].data(), input.data(), input.bytes(), device.compute());
    copy_on_device(labels[i].data(), upload.labels(), images * sizeof(int32_t), device.compute());
  }

  for (size_t i = 0; i < batches; ++i) {
    std::vector<float> values(input.bytes() / sizeof(float));
    std::vector<int32_t> label(images);
    copy_from_device(values.data(), seen[i].data(), input.bytes(), device.compute());
    copy_from_device(label.data(), labels[i].data(), images * sizeof(int32_t), device.compute());
    device.synchronize();
    size_t wrong = 0;
    for (size_t at = 0; at < values.size(); ++at)
      if (values[at] != (at % input.channels() < 3 ? static_cast<float>(i + 1) : 0)) ++wrong;
    EXPECT_EQ(wrong, 0u) << i;
    EXPECT_EQ(label, std::vector<int32_t>(images, static_cast<int32_t>(i)));
  }
}

}  // namespace
}  // namespace recordpipe::cuda
