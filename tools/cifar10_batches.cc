// cifar10_batches: the batches of the CIFAR-10 pipeline as digests; its speed; and its state.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "recordpipe/base/error.h"
#include "recordpipe/base/version.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/cifar/cifar10_dataset.h"
#include "recordpipe/cifar/data_folder.h"
#include "recordpipe/io/atomic_file.h"
#include "recordpipe/io/file.h"
#include "tools/support/command_line/argument_parser.h"
#include "tools/support/process/interrupt.h"

namespace recordpipe {
namespace {

constexpr char kProgram[] = "cifar10_batches";
constexpr size_t kShuffleBuffer = 16'384;
constexpr size_t kLabelsShown = 4;
constexpr size_t kMaxStateSize = size_t{1} << 30;

enum class Shuffle { none, buffer, global };

struct Arguments {
  std::string data_dir;
  Cifar10Subset subset = Cifar10Subset::train;
  Shuffle shuffle = Shuffle::buffer;
  Cifar10Options options = {.distort = true};
  std::optional<uint64_t> batches = {};
  uint64_t memory_limit = UINT64_MAX;
  std::string save_state;
  std::string restore_state;
  bool digest = false;
  bool stats = false;
  std::string trace;
  bool explain = false;
};

constexpr char kDescription[] =
    R"(Runs the CIFAR-10 input pipeline (files, shuffle, repeat, parse, pad-crop-flip, batch,
prefetch) over the TFRecord files that generate_cifar10_tfrecords wrote, and prints what it yields.

The batches depend only on the files, the seed and the options above --threads: never on the
threads, the prefetch depth or the timing. --digest shows this.)";

constexpr char kExamples[] =
    R"(Examples:
  cifar10_batches --data-dir data/cifar10 --digest --batches 5
  cifar10_batches --data-dir data/cifar10 --epochs 10 --stats --trace trace.json
  cifar10_batches --data-dir data/cifar10 --shuffle global --shard 1/4 --digest
  cifar10_batches --data-dir data/cifar10 --batches 100 --save-state place --digest
  cifar10_batches --data-dir data/cifar10 --restore-state place --digest

--digest prints a line for each batch, "batch K crc32c X labels A B C D": K is the number of the
batch in the whole run, also after --restore-state; X is the CRC-32C of the batch's pixels, as they
are in memory, followed by its labels, as 32-bit little-endian numbers; A to D are the first labels.
The last line is "total batches N images M crc32c X", for all batches of this process, one after
another.

--stats ends with a table of the pipeline's stages, inputs first. For each stage, it has the
elements passed on, the seconds of planning (in order, on one thread) and of computing (on all
threads), the seconds of waiting for input and for room in the output, and the load: the share of
its time that the stage worked (a stage at 100 % limits the speed). Open the file that --trace
writes in https://ui.perfetto.dev.

A state that one of N workers saved can be resumed by any number of workers, also by a single one
(--shard 0/1) with batches of N times the size.

Exit status: 0 done, 1 failed, 2 wrong usage.)";

template <class T>
void add_choice(ArgumentParser& app, const std::string& name, T& value,
                const std::map<std::string, T>& choices, const std::string& description) {
  std::vector<std::string> names;
  std::string present;
  for (const auto& [choice, meaning] : choices) {
    names.push_back(choice);
    if (meaning == value) present = choice;
  }
  app.add_option_function(
         name, [&value, choices](const std::string& choice) { value = choices.at(choice); },
         description)
      .one_of(names)
      .default_text(present);
}

// Returns an empty string, or the error in `text`.
std::string check_shard(const std::string& text) {
  unsigned index = 0, count = 0;
  int end = 0;
  const int read = std::sscanf(text.c_str(), "%5u/%5u%n", &index, &count, &end);
  const bool is_whole = read == 2 && static_cast<size_t>(end) == text.size();
  if (is_whole && count > kMaxShards) {
    return fmt::format("{} is of more than {} workers", text, kMaxShards);
  }
  return is_whole && index < count ? "" : text + " is not I/N with I from 0 to N-1";
}

// CLI11 parses -1 and larger values as the largest number.
template <class T>
std::string check_number(const std::string& text) {
  if (std::is_unsigned_v<T> && text.starts_with('-')) return text + " is below 0";
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc::result_out_of_range ? text + " is out of range" : "";
}

void define_options(ArgumentParser& app, Arguments& arguments) {
  Cifar10Options& options = arguments.options;
  app.add_option("--data-dir", arguments.data_dir, "Folder with the TFRecord files")
      .type_name("DIR")
      .required();
  add_choice<Cifar10Subset>(app, "--subset", arguments.subset,
                            {{"train", Cifar10Subset::train},
                             {"validation", Cifar10Subset::validation},
                             {"eval", Cifar10Subset::eval}},
                            "Files to read");
  app.add_option("--batch-size", options.batch_size, "Images in a batch")
      .between(size_t{1}, size_t{1} << 20)
      .type_name("N")
      .show_default();
  app.add_option("--seed", options.seed, "Random seed for order and distortions")
      .check(check_number<uint64_t>)
      .type_name("N")
      .show_default();
  app.add_option("--epochs", options.epochs, "Number of passes over the files; -1: unlimited")
      .check(check_number<int64_t>)
      .between(int64_t{-1}, std::numeric_limits<int64_t>::max())
      .type_name("E")
      .show_default();
  app.add_option("--batches", arguments.batches, "Stop after N batches")
      .check(check_number<uint64_t>)
      .type_name("N");
  add_choice<Shuffle>(
      app, "--shuffle", arguments.shuffle,
      {{"none", Shuffle::none}, {"buffer", Shuffle::buffer}, {"global", Shuffle::global}},
      fmt::format("buffer: shuffle in a buffer of {} records; global: shuffle all records",
                  kShuffleBuffer));
  app.add_option("--distort", options.distort, "Distort the images: pad by 4 pixels, crop, flip")
      .type_name("true|false")
      .default_text("true");
  add_choice<DType>(app, "--dtype", options.dtype,
                    {{"float32", DType::float32}, {"uint8", DType::uint8}},
                    "Data type of the pixels");
  add_choice<Layout>(app, "--layout", options.layout,
                     {{"nhwc", Layout::nhwc}, {"nchw", Layout::nchw}}, "Layout of a batch");
  app.add_option_function(
         "--shard",
         [&options](const std::string& text) {
           const size_t slash = text.find('/');
           options.shard_index = std::stoul(text.substr(0, slash));
           options.num_shards = std::stoul(text.substr(slash + 1));
         },
         "Act as worker I (from 0) of N: make batches of every N-th image")
      .check(check_shard)
      .type_name("I/N");
  app.add_option("--threads", options.threads,
                 "Number of decoding threads; 0: chosen automatically, at most one per core")
      .between(size_t{0}, PipelineOptions::kMaxThreads)
      .type_name("T")
      .show_default();
  app.add_option("--prefetch", options.prefetch,
                 "Number of batches that a separate thread prefetches")
      .between(size_t{0}, size_t{1} << 16)
      .type_name("P")
      .default_text("chosen automatically");
  app.add_option("--memory-limit", arguments.memory_limit,
                 "Memory limit for batches and buffers; K, M and G stand for KiB, MiB and GiB")
      .check(check_number<uint64_t>)
      .transform([](std::string& text) { return size_to_bytes(text, /*kb_is_1000=*/false); })
      .type_name("BYTES");
  app.add_flag("--digest", arguments.digest, "Print a line for each batch");
  app.add_flag("--stats", arguments.stats, "Print speed, CPU time, memory and the stages");
  app.add_option("--trace", arguments.trace, "Write a timeline of the threads to FILE")
      .type_name("FILE");
  app.add_flag("--explain", arguments.explain, "Print the operators, and run nothing");
  app.add_option("--save-state", arguments.save_state,
                 "At the end, save the iterator's state to FILE")
      .type_name("FILE");
  app.add_option("--restore-state", arguments.restore_state, "Resume from the state in FILE")
      .type_name("FILE");
  app.set_version(fmt::format("{} {}", kProgram, RECORDPIPE_VERSION));
  app.set_footer(kExamples);
}

uint32_t extend_by_labels(uint32_t crc, const ImageBatch& batch) {
  for (const int32_t label : batch.labels()) {
    const auto bits = static_cast<uint32_t>(label);
    const std::array<std::byte, 4> bytes = {std::byte(bits), std::byte(bits >> 8),
                                            std::byte(bits >> 16), std::byte(bits >> 24)};
    crc = crc32c_extend(crc, bytes);
  }
  return crc;
}

void print_digest(uint64_t number, const ImageBatch& batch) {
  const uint32_t crc = extend_by_labels(crc32c(batch.bytes()), batch);
  std::string labels;
  for (size_t row = 0; row < std::min(batch.size(), kLabelsShown); ++row) {
    labels += fmt::format(" {}", batch.labels()[row]);
  }
  fmt::print("batch {} crc32c {:08x} labels{}\n", number, crc, labels);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double mebibytes(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

void print_stats(uint64_t images, double elapsed, const std::string& kind) {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const double cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  const auto count = static_cast<double>(std::max<uint64_t>(images, 1));
  fmt::print("{:.0f} {}images/s, {:.3f} CPU seconds per million images, peak memory {:.1f} MiB\n",
             static_cast<double>(images) / elapsed, kind, 1e6 * cpu / count,
             mebibytes(static_cast<uint64_t>(usage.ru_maxrss) * 1024));
}

std::string read_file(const std::string& path) {
  const auto source = posix_file_system().open_source(path);
  const std::vector<std::byte> content = read_all(*source, kMaxStateSize);
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

// Checked before the work, not after it.
void require_writable(const std::string& path) {
  if (!path.empty()) AtomicFile(posix_file_system(), path);  // removed again
}

void write_file(const std::string& path, const std::string& content) {
  AtomicFile file(posix_file_system(), path);
  file.write(std::as_bytes(std::span(content)));
  file.commit();
}

void yield_batches(const Arguments& arguments) {
  Cifar10Options options = arguments.options;
  options.shuffle_buffer = arguments.shuffle == Shuffle::buffer ? kShuffleBuffer : 0;
  options.global_shuffle = arguments.shuffle == Shuffle::global;
  Dataset<ImageBatch> dataset =
      cifar10_batches(cifar10_files(arguments.data_dir, arguments.subset), options);
  if (arguments.explain) {
    fmt::print("{}", dataset.explain());
    return;
  }
  require_writable(arguments.save_state);
  require_writable(arguments.trace);
  PipelineOptions how = dataset.options();
  how.memory_limit = arguments.memory_limit;
  if (!arguments.trace.empty()) how.trace = std::make_shared<ChromeTrace>();
  Iterator<ImageBatch> iterator = dataset.with_options(how).iterate();
  if (!arguments.restore_state.empty()) iterator.restore(read_file(arguments.restore_state));

  const auto start = std::chrono::steady_clock::now();
  uint64_t batches = 0, images = 0;
  uint32_t crc = 0;
  while (!arguments.batches || batches < *arguments.batches) {
    const uint64_t number = iterator.position();
    const ImageBatch* batch = iterator.next();
    if (!batch) break;
    ++batches;
    images += batch->size();
    if (!arguments.digest) continue;
    print_digest(number, *batch);
    crc = extend_by_labels(crc32c_extend(crc, batch->bytes()), *batch);
  }
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!arguments.save_state.empty()) write_file(arguments.save_state, iterator.state());
  if (arguments.digest) {
    fmt::print("total batches {} images {} crc32c {:08x}\n", batches, images, crc);
  } else if (!arguments.stats) {
    fmt::print("total batches {} images {}\n", batches, images);
  }
  if (arguments.stats) {
    const bool synthetic = is_marked_synthetic(posix_file_system(), arguments.data_dir);
    print_stats(images, elapsed, synthetic ? "synthetic " : "");
    fmt::print("{:.1f} MiB of it for batches and buffers (mapped files are not)\n{}",
               mebibytes(iterator.memory().peak), iterator.statistics().text());
  }
  if (how.trace) write_file(arguments.trace, how.trace->json());
}

int run(int argc, char** argv) {
  open_standard_descriptors();
  ArgumentParser app(kProgram, kDescription);
  Arguments arguments;
  define_options(app, arguments);
  if (const auto status = app.parse_or_print(arguments_of(argc, argv))) return *status;
  try {
    yield_batches(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", kProgram, error.what());
    return 1;
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace recordpipe

int main(int argc, char** argv) { return recordpipe::run(argc, argv); }
