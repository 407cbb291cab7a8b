// Reads TFRecords of photographs as batches for training: random crops of 224x224, flipped,
// normalised. Broken images are left out and named at the end.
//
//     photographs FILE...       Examples with "image/encoded" (JPEG or PNG), "image/class/label"
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/image/batches/example_images.h"
#include "recordpipe/pipeline/tfrecord_files.h"

using namespace recordpipe;

constexpr char kUsage[] = R"(usage: photographs FILE...

Reads TFRecord files of Examples with "image/encoded" (JPEG or PNG) and "image/class/label" as
batches of random crops of 224x224, and prints each batch's mean and the images left out.
)";

int main(int argc, char** argv) {
  const bool help = argc > 1 && std::string_view(argv[1]) == "--help";
  if (help || argc < 2 || argv[1][0] == '-') {
    std::fputs(kUsage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  const std::vector<std::string> paths(argv + 1, argv + argc);
  try {
    const ExampleImagesCollator training(
        {{"image/class/label", FixedLen{FeatureKind::int64s}}},
        {{.feature = "image/encoded",
          .source = DecodeOptions{.channels = 3},
          .distortion = RandomResizedCrop{.to = {224, 224}},
          .color_jitter = ColorJitterRanges::around(0.4f, 0.4f, 0.4f, 0.1f),
          .normalization = Normalization{.scale = Normalization::kToUnit,
                                         .mean = {0.485f, 0.456f, 0.406f},
                                         .stddev = {0.229f, 0.224f, 0.225f}},
          .layout = Layout::nchw,
          .seed = 7}});
    const auto intact = tfrecord_files(paths)
                            .map([=](Record record) { return training.checked(record); })
                            .ignore_errors()
                            .shuffle(1024, 7);
    const auto batches =
        draw_images(intact, training).batch(64, DropRemainder::no, training).prefetch();

    auto iterator = batches.iterate();
    while (const ExampleImagesBatch* batch = iterator.next()) {
      const auto labels = batch->example.dense<FeatureKind::int64s>("image/class/label").values;
      double sum = 0;
      for (const float value : batch->images[0].batch.floats()) sum += value;
      std::printf("%zu images, first label %lld, mean %.4f\n", labels.size(),
                  static_cast<long long>(labels[0]),
                  sum / static_cast<double>(batch->images[0].batch.floats().size()));
    }
    for (const SkippedElement& skipped : iterator.skipped().first) {
      std::printf("skipped: %s\n", skipped.reason.c_str());
    }
  } catch (const std::exception& error) {  // recordpipe::Error names the record and the image
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
