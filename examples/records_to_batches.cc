// Writes records and reads them back as shuffled batches, ready for a training step.
//
//     records_to_batches FILE      FILE is written first
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/example/parse_example.h"
#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_writer.h"

using namespace recordpipe;

// A thousand points; the label tells on which side of the diagonal a point is.
void write_points(const char* path) {
  RecordWriter writer(posix_file_system(), path);
  ExampleBuilder example;  // a tf.train.Example, readable by every TFRecord reader
  for (int i = 0; i < 1000; ++i) {
    const float point[] = {static_cast<float>(i % 37), static_cast<float>(i % 41)};
    example.set_floats("point", point).set_int64("label", point[0] > point[1] ? 1 : 0);
    const std::string bytes = example.serialize();
    writer.write(std::as_bytes(std::span(bytes)));
  }
  writer.close();  // the complete file appears here; without this call, no file appears
}

constexpr char kUsage[] = R"(usage: records_to_batches FILE

Writes FILE, 1000 Examples with a point and a label each, reads it back as shuffled batches, and
prints a line for each.
)";

int main(int argc, char** argv) {
  const bool help = argc > 1 && std::string_view(argv[1]) == "--help";
  if (help || argc != 2 || argv[1][0] == '-') {
    std::fputs(kUsage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  try {
    write_points(argv[1]);

    // The features to decode, and their shapes. Other features are ignored. A missing feature is an
    // error that names the feature.
    const ExampleCollator features(
        {{"point", FixedLen{FeatureKind::floats, {2}}}, {"label", FixedLen{FeatureKind::int64s}}});

    // Nothing is read before the loop. The batches depend only on the file and the seed, never on
    // the number of threads.
    const auto batches = tfrecord_files({argv[1]})
                             .shuffle(/*buffer_size=*/1000, /*seed=*/7)
                             .repeat(2)  // two epochs, each in its own order
                             .batch(128, DropRemainder::yes, features)
                             .prefetch(2);  // computed by other threads while this one works
    size_t count = 0;
    for (const ExampleBatch& batch : batches) {
      const auto points = batch.dense<FeatureKind::floats>("point");  // 128 x 2, row by row
      const auto labels = batch.dense<FeatureKind::int64s>("label");
      double right_sides = 0;
      for (const int64_t label : labels.values) right_sides += static_cast<double>(label);
      std::printf("batch %zu: %zu points, the first (%g, %g), %g %% below the diagonal\n", count++,
                  batch.size(), points.values[0], points.values[1],
                  100 * right_sides / static_cast<double>(batch.size()));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
