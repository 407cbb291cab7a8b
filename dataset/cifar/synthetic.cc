#include "recordpipe/cifar/synthetic.h"

#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

#include "dataset/base/available_cpus.h"
#include "dataset/base/require.h"
#include "dataset/cifar/pickle_writer.h"
#include "dataset/cifar/synthetic_image.h"
#include "dataset/cifar/tar.h"
#include "dataset/parallel/for_each.h"
#include "dataset/parallel/jobs.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/cifar/archive.h"
#include "recordpipe/cifar/cifar_batch.h"
#include "recordpipe/io/atomic_file.h"
#include "recordpipe/io/compression.h"

namespace recordpipe {
namespace {

constexpr std::string_view kFolder = "cifar-10-batches-py";
constexpr std::string_view kReadme =
    "<p>Drawn by program: generate_cifar10_tfrecords --synthetic. This is not CIFAR-10.</p>\n";
constexpr size_t kTestBatch = 5;
// The order of the batches in the published archive, which has readme.html after the first batch
// and batches.meta after the third.
constexpr std::array<size_t, 6> kPublishedOrder = {3, kTestBatch, 2, 1, 4, 0};

// Draws images [begin, end) of batch `place`.
void draw_images(const SyntheticCifarOptions& options, size_t place, size_t begin, size_t end,
                 CifarBatch& batch) {
  for (size_t i = begin; i < end && !options.stop.stop_requested(); ++i) {
    const std::span<std::byte, kCifarImageSize> pixels(batch.pixels.get() + i * kCifarImageSize,
                                                       kCifarImageSize);
    batch.labels[i] =
        draw_synthetic_image(options.seed, place * options.images_per_batch + i, pixels);
  }
}

CifarBatch draw_batch(const SyntheticCifarOptions& options, size_t place) {
  const size_t rows = options.images_per_batch;
  CifarBatch batch;
  batch.labels.resize(rows);
  batch.pixels = std::make_unique_for_overwrite<std::byte[]>(rows * kCifarImageSize);
  const size_t parts = available_cpus();
  parallel::for_each(parts, parts, [&](uint64_t part) {
    draw_images(options, place, rows * part / parts, rows * (part + 1) / parts, batch);
  });
  return batch;
}

std::string pickle_batch(const CifarBatch& batch, size_t place) {
  std::vector<std::string> names;
  for (size_t i = 0; i < batch.rows(); ++i) {
    std::array<char, 48> name;
    std::snprintf(name.data(), name.size(), "%s_s_%06zu.png",
                  kSyntheticClasses[batch.labels[i]].data(), place * batch.rows() + i);
    names.emplace_back(name.data());
  }
  const std::string label = place == kTestBatch
                                ? "testing batch 1 of 1"
                                : "training batch " + std::to_string(place + 1) + " of 5";
  return make_cifar_pickle(label, batch, names);
}

class Progressing {
 public:
  explicit Progressing(const SyntheticCifarOptions& options)
      : options_(options),
        state_{.activity = "draw synthetic",
               .total = 6 * options.images_per_batch * kCifarImageSize} {
    report();
  }
  void add(size_t images) {
    state_.done += images * kCifarImageSize;
    report();
  }

 private:
  void report() const {
    if (options_.progress) options_.progress(state_);
  }
  const SyntheticCifarOptions& options_;
  Progress state_;
};

}  // namespace

void write_synthetic_cifar(FileSystem& file_system, const std::string& path,
                           const SyntheticCifarOptions& options) {
  require(options.images_per_batch >= 1 && options.images_per_batch <= 10'000,
          "images_per_batch must be from 1 to 10000");
  AtomicFile file(file_system, path);
  // Level 0 (stored), because noise is incompressible.
  const auto compressed = deflate(file, {.format = Compression::gzip, .level = 0});
  TarWriter tar(*compressed);
  Progressing progress(options);
  const std::string folder(kFolder);
  tar.add_folder(folder);
  const auto add = [&](std::string_view name, std::string_view content) {
    tar.add_file(folder + "/" + std::string(name), std::as_bytes(std::span(content)));
  };

  parallel::Jobs jobs(2);
  const auto draw_ahead = [&](size_t place) {
    return jobs.submit([&options, place] { return draw_batch(options, place); });
  };
  // Each batch is drawn while the previous one is packed.
  parallel::Job<CifarBatch> next = draw_ahead(kPublishedOrder.front());
  for (size_t i = 0; i < kPublishedOrder.size(); ++i) {
    const size_t place = kPublishedOrder[i];
    const CifarBatch batch = next.get();
    throw_if_stopped(options.stop, path);
    if (i + 1 < kPublishedOrder.size()) next = draw_ahead(kPublishedOrder[i + 1]);
    add(cifar_batch_names(CifarDataset::cifar10)[place], pickle_batch(batch, place));
    if (i == 0) add("readme.html", kReadme);
    if (i == 2) {
      add("batches.meta",
          make_cifar_meta_pickle(static_cast<uint16_t>(batch.rows()), kSyntheticClasses));
    }
    progress.add(batch.rows());
  }
  tar.close();
  compressed->close();
  file.commit();
}

}  // namespace recordpipe
