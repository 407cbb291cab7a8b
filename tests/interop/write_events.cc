// Writes the event files of a run that crashed and was resumed, for event_files_test.py.
//
// usage: write_events FOLDER VALUES IMAGES
//
// VALUES: file of float32 values, for a histogram. IMAGES: file of float32 images of 8x6x3.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/summary/event_writer.h"

using namespace recordpipe;

namespace {

std::vector<float> read_floats(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

ImageBatch read_images(const char* path) {
  const std::vector<float> values = read_floats(path);
  const ImageFormat format = {.height = 8, .width = 6, .channels = 3};
  ImageBatch batch;
  batch.reset(format, values.size() / format.values_per_image());
  std::memcpy(batch.image_at(0), values.data(), batch.bytes().size());
  return batch;
}

void write_run(const std::string& folder, uint64_t first_step, uint64_t last_step, double loss,
               const std::vector<SummaryValue>& rest) {
  EventWriter events(posix_file_system(), folder);
  events.add_session_log(first_step, {.status = SessionStatus::start});
  for (uint64_t step = first_step; step <= last_step; ++step)
    events.add_summary(step, {{"loss", ScalarSummary{loss}}});
  events.add_summary(last_step, rest);
  events.add_session_log(last_step, {SessionStatus::checkpoint, "checkpoint"});
  events.add_session_log(last_step, {.status = SessionStatus::stop});
  events.flush();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    const std::vector<SummaryValue> rest = {{"weights", HistogramSummary{read_floats(argv[2])}},
                                            {"input", summarize_images(read_images(argv[3]))}};
    write_run(argv[1], 1, 10, 1, rest);
    write_run(argv[1], 6, 8, 2, rest);
  } catch (const Error& error) {
    std::fprintf(stderr, "write_events: %s\n", error.what());
    return 1;
  }
}
