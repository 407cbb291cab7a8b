// Measures the speed of `tfrecord verify`, compared with bare CRC loops on all cores.
//
// usage: verify_bench SCRATCH_DIR TFRECORD [WORDS]
//
// Uses two files of 3 GB in the page cache, one with many small records and one with a few large
// records; with WORDS, only the file whose line contains these words. The first floor computes the
// CRCs of the same data in mapped, resident memory, with equal numbers of records per core. A newly
// started program must read the file first: the second floor reads the file, computes the CRCs and
// does nothing else. Cases alternate; the median of the rounds is reported.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "recordpipe/base/philox.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/record/record_format.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/record_writer.h"

namespace recordpipe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kRounds = 7;

// Keeps the compiler from removing the work.
volatile uint32_t sink;

struct Shape {
  const char* name;
  size_t records;
  size_t record_size;
};

std::string make_file(const std::string& folder, const Shape& shape) {
  const std::string path = fmt::format("{}/verify-{}.tfrecords", folder, shape.record_size);
  std::string data(shape.record_size, '\0');
  Random random(derive_key(1, 0), 0, 0);
  for (char& c : data) c = static_cast<char>(random());
  RecordWriter writer(posix_file_system(), path);
  for (size_t i = 0; i < shape.records; ++i) writer.write(std::as_bytes(std::span(data)));
  writer.close();
  return path;
}

double seconds_of(const std::function<void()>& work) {
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void check_bare(const MappedRecordFile& file, size_t threads) {
  std::vector<std::jthread> workers;
  for (size_t t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      uint32_t crc = 0;
      const size_t end = file.size() * (t + 1) / threads;
      for (size_t i = file.size() * t / threads; i < end; ++i) crc ^= crc32c(file.view(i).data);
      sink = crc;
    });
  }
}

// Reads the file and computes the CRCs in pieces that stay in a core's cache.
void check_read(const std::string& path, size_t record_size, size_t threads) {
  constexpr size_t kPiece = size_t{256} << 10;
  const auto file = posix_file_system().open_random(path);
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> workers;
  for (size_t t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      std::vector<std::byte> piece(kPiece);
      uint32_t crc = 0;
      while (true) {
        auto rest = std::span(piece).first(file->read_at(next++ * kPiece, piece));
        if (rest.empty()) break;
        while (!rest.empty()) {
          const size_t size = std::min(rest.size(), record_size);
          crc ^= crc32c(rest.first(size));
          rest = rest.subspan(size);
        }
      }
      sink = crc;
    });
  }
}

void run_program(const std::string& program, const std::string& path) {
  const std::string command = fmt::format("'{}' verify '{}' > /dev/null", program, path);
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void run(const std::string& folder, const std::string& program, std::string_view words) {
  const size_t threads = std::max(1u, std::thread::hardware_concurrency());
  for (const Shape& shape : {Shape{"1,000,000 records of 3 KB", 1'000'000, 3'000},
                             Shape{"100 records of 30 MB", 100, 30'000'000}}) {
    if (std::string_view(shape.name).find(words) == std::string_view::npos) continue;
    const std::string path = make_file(folder, shape);
    {
      const MappedRecordFile file(posix_file_system(), path);
      std::vector<double> floor, reading, ours, ratios, reading_ratios;
      for (size_t round = 0; round < kRounds + 1; ++round) {
        const double floor_seconds = seconds_of([&] { check_bare(file, threads); });
        const double reading_seconds =
            seconds_of([&] { check_read(path, shape.record_size, threads); });
        const double our_seconds = seconds_of([&] { run_program(program, path); });
        if (round == 0) continue;  // this round faults the pages in
        floor.push_back(floor_seconds);
        ours.push_back(our_seconds);
        ratios.push_back(floor_seconds / our_seconds);
        reading.push_back(reading_seconds);
        reading_ratios.push_back(floor_seconds / reading_seconds);
      }
      const double gigabytes = 1e-9 * static_cast<double>(file.bytes().size());
      const auto [least, most] = std::ranges::minmax(ratios);
      fmt::print(
          "  verify {:<39} {:>8.2f} GB/s, floor {:>8.2f}, ratio {:.2f} ({:.2f} to {:.2f}; "
          "goal: at least 0.8)\n",
          shape.name, gigabytes / median(ours), gigabytes / median(floor), median(ratios), least,
          most);
      fmt::print("    reading and CRCs, nothing else {:>19.2f} GB/s, ratio {:.2f}\n",
                 gigabytes / median(reading), median(reading_ratios));
    }
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: %s SCRATCH_DIR TFRECORD [WORDS]\n", argv[0]);
    return 2;
  }
  try {
    recordpipe::run(argv[1], argv[2], argc == 4 ? argv[3] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
  return 0;
}
