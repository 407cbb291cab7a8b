// Reads arbitrary TFRecord files and prints the contents of each record.
//
//     read_tfrecords FILE...       plain, gzip, zlib or zstd; detected from the first bytes
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "recordpipe/example/example_view.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record_reader.h"

using namespace recordpipe;

// Prints a feature on one line: its name, the number and kind of its values, and the first value.
void print_feature(std::string_view name, const FeatureView& feature) {
  std::printf("  %.*s: %zu ", static_cast<int>(name.size()), name.data(), feature.size());
  switch (feature.kind()) {
    case FeatureKind::bytes:
      std::printf("bytes values");
      if (feature.size() > 0) std::printf(" (%zu bytes ...)", feature.bytes_values()[0].size());
      break;
    case FeatureKind::floats:
      std::printf("floats");
      if (feature.size() > 0) std::printf(" (%g ...)", feature.float_values()[0]);
      break;
    case FeatureKind::int64s:
      std::printf("int64s");
      if (feature.size() > 0) {
        std::printf(" (%lld ...)", static_cast<long long>(feature.int64_values()[0]));
      }
      break;
    case FeatureKind::none:
      std::printf("values of no kind");
  }
  std::printf("\n");
}

constexpr char kUsage[] = R"(usage: read_tfrecords FILE...

Prints the features of each record of TFRecord files: plain, gzip, zlib or zstd, detected from
their first bytes.
)";

int main(int argc, char** argv) {
  const bool help = argc > 1 && std::string_view(argv[1]) == "--help";
  if (help || argc < 2 || argv[1][0] == '-') {
    std::fputs(kUsage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  try {
    for (const char* const path : std::span(argv, argc).subspan(1)) {
      RecordReader reader(posix_file_system(), path);
      size_t count = 0;
      // The bytes of a record are valid until the next call to read(). read() returns an empty
      // optional at the end and throws if the file is damaged.
      while (const auto record = reader.read()) {
        std::printf("record %zu: %zu bytes\n", count++, record->data.size());
        // Most TFRecord files contain tf.train.Example: named lists of bytes, floats or int64s.
        for_each_feature(record->data, print_feature);
      }
      std::printf("%s: %zu records\n", path, count);
    }
  } catch (const std::exception& error) {  // recordpipe::Error names the place, the reason and the
                                           // remedy
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
