#include "recordpipe/cifar/tutorial_batches.h"

#include <utility>

#include "dataset/base/require.h"
#include "dataset/cifar/cifar_example.h"
#include "recordpipe/image/crop_flip_color.h"
#include "recordpipe/pipeline/tfrecord_files.h"

namespace recordpipe {
namespace {

constexpr ImageSize kImage = {.height = 32, .width = 32};
constexpr ImageSize kCrop = {.height = 24, .width = 24};

RecoloredRow central_crop(Record record) {
  Cifar10Record image = parse_cifar10_record(std::move(record));
  return {.pixels = image.pixels,
          .label = image.label,
          .distortion = CropFlipColor::central(kImage, kCrop),
          .owner = std::move(image.owner)};
}

struct DrawDistortion {
  ColorRanges ranges = {};

  RecoloredRow operator()(RecoloredRow row, Random& random) const {
    row.distortion = CropFlipColor::draw(random, kImage, kCrop, ranges);
    return row;
  }
  // The sizes are parameters of the collator.
  std::vector<Parameter> parameters() const {
    return {{"max_brightness", ranges.max_brightness},
            {"min_contrast", ranges.min_contrast},
            {"max_contrast", ranges.max_contrast}};
  }
};

}  // namespace

Dataset<ImageBatch> cifar10_tutorial_batches(const std::vector<std::string>& files,
                                             const Cifar10TutorialOptions& options) {
  require(options.dtype != DType::uint8, "standardised images don't fit uint8 values",
          "use a floating-point dtype");
  Dataset<Record> records = tfrecord_files(files, {}, {.remedy = {}});
  if (options.shuffle_buffer > 0) records = records.shuffle(options.shuffle_buffer, options.seed);
  records = records.repeat(options.epochs);
  if (options.take > 0) records = records.take(options.take);
  if (options.num_shards > 0) records = records.shard(options.num_shards, options.shard_index);
  Dataset<RecoloredRow> images = records.map(central_crop);
  if (options.distort) images = images.map_with_random(options.seed, DrawDistortion{});
  const RecoloredCollator collator{.format = {.height = kCrop.height,
                                              .width = kCrop.width,
                                              .dtype = options.dtype,
                                              .layout = options.layout},
                                   .size = kImage};
  auto batches =
      images.batch(options.batch_size,
                   options.drop_remainder ? DropRemainder::yes : DropRemainder::no, collator);
  if (options.prefetch > 0) batches = batches.prefetch(options.prefetch);
  return batches.with_options({.threads = options.threads});
}

}  // namespace recordpipe
