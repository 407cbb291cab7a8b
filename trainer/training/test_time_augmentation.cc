#include "trainer/training/test_time_augmentation.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <variant>

#include "trainer/backend/reference/softmax_cross_entropy.h"

namespace recordpipe {
namespace {

struct View {
  int shift = 0;  // of rows and columns: pixel (y, x) is the image's (y + shift, x + shift)
  bool flip = false;
  float weight = 1;
};

std::vector<View> views_of(TestTimeAugmentation augmentation) {
  switch (augmentation) {
    case TestTimeAugmentation::flip:
      return {{.weight = 0.5f}, {.flip = true, .weight = 0.5f}};
    case TestTimeAugmentation::flip_and_translate:
      return {{.weight = 0.25f},
              {.flip = true, .weight = 0.25f},
              {.shift = -1, .weight = 0.125f},
              {.shift = -1, .flip = true, .weight = 0.125f},
              {.shift = 1, .weight = 0.125f},
              {.shift = 1, .flip = true, .weight = 0.125f}};
    default:
      return {};
  }
}

// Reflected at the edges, without repeating them; an image of one pixel repeats it.
size_t reflected(size_t at, int shift, size_t length) {
  const auto last = static_cast<int>(length) - 1;
  const int inside = last - std::abs(last - std::abs(static_cast<int>(at) + shift));
  return static_cast<size_t>(std::max(inside, 0));
}

void copy_view(const ImageBatch& batch, const View& view, ImageBatch& copy) {
  const ImageFormat& format = batch.format();
  const bool nchw = format.layout == Layout::nchw;
  // Of the memory that moves as a whole: all channels of a pixel, or one.
  const size_t bytes = size_of(format.dtype) * (nchw ? 1 : format.channels);
  const size_t planes = nchw ? format.channels : 1;
  copy.reset(format, batch.size());
  for (size_t image = 0; image < batch.size(); ++image) {
    copy.set_label(image, batch.labels()[image]);
    const std::byte* from = batch.bytes().data() + image * format.bytes_per_image();
    std::byte* to = copy.image_at(image);
    for (size_t plane = 0; plane < planes; ++plane)
      for (size_t y = 0; y < format.height; ++y)
        for (size_t x = 0; x < format.width; ++x) {
          const size_t row = plane * format.height + reflected(y, view.shift, format.height);
          const size_t column =
              reflected(view.flip ? format.width - 1 - x : x, view.shift, format.width);
          std::memcpy(to, from + (row * format.width + column) * bytes, bytes);
          to += bytes;
        }
  }
}

}  // namespace

AveragedLogits forward_augmented(Runner& runner, const Network& network, const ImageBatch& batch,
                                 TestTimeAugmentation augmentation) {
  const NodeId logits_node = inputs_of(network.nodes().back()).front();
  AveragedLogits averaged;
  if (augmentation == TestTimeAugmentation::none) {
    runner.load(batch);
    averaged.result = runner.forward();
    averaged.logits = runner.output(logits_node);
    return averaged;
  }
  ImageBatch copy;
  for (const View& view : views_of(augmentation)) {
    copy_view(batch, view, copy);
    runner.load(copy);
    runner.forward();
    const std::vector<float> logits = runner.output(logits_node);
    averaged.logits.resize(logits.size());
    for (size_t i = 0; i < logits.size(); ++i) averaged.logits[i] += view.weight * logits[i];
  }
  const auto& op = std::get<SoftmaxCrossEntropyOp>(network.nodes().back().op);
  std::vector<float> gradient(averaged.logits.size());
  const reference::LossResult loss = reference::softmax_cross_entropy<float>(
      network.classes(), op.label_smoothing, averaged.logits, batch.labels(), gradient);
  averaged.result = {.loss = loss.loss, .correct = loss.correct, .images = batch.size()};
  return averaged;
}

}  // namespace recordpipe
