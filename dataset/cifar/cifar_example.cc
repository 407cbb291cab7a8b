#include "dataset/cifar/cifar_example.h"

#include <optional>
#include <string_view>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/example/example_view.h"

namespace recordpipe {

void append_cifar_example(const CifarBatch& batch, size_t row, std::string& out) {
  ExampleBuilder example;
  example.set_bytes("image", batch.image(row)).set_int64("label", batch.labels[row]);
  if (!batch.coarse_labels.empty()) {
    example.set_int64("coarse_label", batch.coarse_labels[row]);
    example.set_int64("fine_label", batch.labels[row]);
  }
  example.append_to(out);
}

namespace {

constexpr size_t kPixels = 3 * 32 * 32;
constexpr int64_t kClasses = 10;

[[noreturn]] void bad_example(const Record& record, std::string reason) {
  throw Error({.kind = ErrorKind::corrupted,
               .path = std::string(record.path),
               .offset = record.offset,
               .reason = std::move(reason) + " in the Example of the record",
               .hint = "expected image: bytes[3072] and label: int64 in 0..9, as "
                       "generate_cifar10_tfrecords writes them"});
}

}  // namespace

Cifar10Record parse_cifar10_record(Record record) {
  std::optional<FeatureView> image, label;
  try {
    for_each_feature(record.data, [&](std::string_view name, FeatureView feature) {
      if (name == "image") image = feature;
      if (name == "label") label = feature;
    });
  } catch (const Error& error) {
    std::string reason = error.reason();
    if (error.offset()) reason += " (byte " + std::to_string(*error.offset()) + " of the data)";
    bad_example(record, std::move(reason));
  }
  if (!image) bad_example(record, "no feature 'image'");
  if (!label) bad_example(record, "no feature 'label'");
  const auto pixels = image->single_bytes();
  if (!pixels) bad_example(record, "feature 'image' is not one bytes value");
  if (pixels->size() != kPixels) {
    bad_example(record, "feature 'image' has " + std::to_string(pixels->size()) + " bytes");
  }
  const auto value = label->single_int64();
  if (!value) bad_example(record, "feature 'label' is not one int64 value");
  if (*value < 0 || *value >= kClasses) {
    bad_example(record, "feature 'label' is " + std::to_string(*value));
  }
  return {.pixels = {reinterpret_cast<const uint8_t*>(pixels->data()), pixels->size()},
          .label = static_cast<int32_t>(*value),
          .owner = std::move(record.owner)};
}

}  // namespace recordpipe
