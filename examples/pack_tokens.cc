// Packs token sequences into rows of 64 for a language model, and batches them by length instead.
//
//     pack_tokens FILE     writes FILE, 1000 Examples with 1 to 40 tokens each, and reads it
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/example/feature_values.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_writer.h"

namespace {

using namespace recordpipe;

void write_examples(const std::string& path) {
  RecordWriter writer(posix_file_system(), path);
  for (int64_t i = 0; i < 1000; ++i) {
    std::vector<int64_t> tokens;
    for (int64_t k = 0; k < 1 + i * i % 40; ++k) tokens.push_back(1 + (i + k) % 500);
    const std::string bytes = ExampleBuilder().set_int64s("tokens", tokens).serialize();
    writer.write(std::as_bytes(std::span(bytes)));
  }
  writer.close();
}

std::vector<int32_t> tokens_of(const Record& record) {
  MessageView message;
  message.read(record.data);
  std::vector<int32_t> tokens;
  if (const FeatureView* const feature = message.find_feature("tokens")) {
    for_each_value<FeatureKind::int64s>(
        *feature, [&](int64_t token) { tokens.push_back(static_cast<int32_t>(token)); });
  }
  return tokens;
}

}  // namespace

constexpr char kUsage[] = R"(usage: pack_tokens FILE

Writes FILE, 1000 Examples with 1 to 40 tokens each, packs them into rows of 64 tokens, batches
them by length instead, and prints how many places are used.
)";

int main(int argc, char** argv) try {
  const bool help = argc > 1 && std::string_view(argv[1]) == "--help";
  if (help || argc != 2 || argv[1][0] == '-') {
    std::fputs(kUsage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  const std::string path = argv[1];
  write_examples(path);

  const auto sequences = tfrecord_files({path}).shuffle(256, /*seed=*/7).map(tokens_of);

  size_t rows = 0, used = 0, segments = 0;
  for (const auto& row : sequences.pack_sequences(64, {.open_rows = 16})) {
    rows += 1;
    used += 64 - static_cast<size_t>(std::ranges::count(row.segment_ids, 0));
    segments += static_cast<size_t>(std::ranges::max(row.segment_ids));
  }
  std::printf("packed: %zu sequences in %zu rows, %zu of %zu places used\n", segments, rows, used,
              rows * 64);

  // Batches of about 512 tokens.
  const LengthBuckets buckets{.boundaries = {9, 17, 33}, .batch_sizes = {64, 32, 16, 12}};
  size_t batches = 0, places = 0;
  for (const auto& batch : sequences.bucket_by_sequence_length(buckets, /*padding=*/0)) {
    batches += 1;
    places += batch.values.size();
  }
  std::printf("bucketed: %zu batches, %zu places\n", batches, places);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
