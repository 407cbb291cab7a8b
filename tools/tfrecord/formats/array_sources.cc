// Reads records from .npy and .npz files (numpy.h), and from CIFAR's archives, batch by batch in
// the archive's order. A notice reports this order: the batches of the published archives are not
// sorted, and include the test images.
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "dataset/cifar/cifar_example.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/cifar/archive.h"
#include "recordpipe/toolkit/numpy.h"
#include "tools/tfrecord/formats/example_source.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

std::string array_name(const std::string& given) {
  const std::string_view path = without_query(given);
  const size_t begin = path.find_last_of('/') + 1;  // npos + 1 is 0
  return std::string(path.substr(begin, path.rfind('.') - begin));
}

class NumpySource final : public ExampleSource {
 public:
  NumpySource(const CommandContext& context, std::vector<std::string> paths, std::string directory)
      : context_(context), paths_(std::move(paths)), directory_(std::move(directory)) {}

  void run(const Consume& consume) override {
    InputProgress progress(context_, "create", paths_);
    const NumpyReadOptions options = {.temporary_directory = directory_,
                                      .stop = context_.stop,
                                      .on_read = [&](uint64_t bytes) { progress.add(bytes); }};
    for (const std::string& path : paths_) {
      const auto rows = open(path, options);
      for (uint64_t i = 0; i < rows->count(); ++i) {
        throw_if_stopped(context_.stop, rows->path());
        const std::string record = rows->example(i);
        consume(std::as_bytes(std::span(record)));
      }
    }
  }

 private:
  std::unique_ptr<NumpyRows> open(const std::string& path, const NumpyReadOptions& options) const {
    if (!without_query(path).ends_with(".npz")) {
      return open_npy(context_.files.open_random(path), array_name(path), options);
    }
    if (auto file = open_random_input(work_of(context_), path)) {
      return open_npz(std::move(file), options);
    }
    return open_npz(open_input(context_, path), options);
  }

  const CommandContext& context_;
  const std::vector<std::string> paths_;
  const std::string directory_;
};

}  // namespace

std::unique_ptr<ExampleSource> numpy_source(const CommandContext& context,
                                            std::vector<std::string> paths,
                                            const SourceOptions& options) {
  return std::make_unique<NumpySource>(context, std::move(paths), options.temporary_directory);
}

namespace {

class CifarSource final : public ExampleSource {
 public:
  CifarSource(const CommandContext& context, std::vector<std::string> paths)
      : context_(context), paths_(std::move(paths)) {}

  void run(const Consume& consume) override {
    InputProgress progress(context_, "create", paths_);
    for (const std::string& path : paths_) {
      std::string batches;
      read_cifar_archive(progress.counted(open_input(context_, path)),
                         [&](const CifarArchiveKind& kind, size_t place, const CifarBatch& batch) {
                           consume_batch(batch, path, consume);
                           batches += fmt::format("{}{} ({})", batches.empty() ? "" : ", ",
                                                  cifar_batch_names(kind.dataset)[place],
                                                  grouped(batch.rows()));
                         });
      if (!told_.insert(path).second) continue;
      context_.progress.warn(
          fmt::format("tfrecord create: {}: training and test images together, in the archive's "
                      "order: {}",
                      shown_path(path), batches));
    }
  }

 private:
  void consume_batch(const CifarBatch& batch, const std::string& path,
                     const Consume& consume) const {
    std::string example;
    for (size_t row = 0; row < batch.rows(); ++row) {
      throw_if_stopped(context_.stop, path);
      example.clear();
      append_cifar_example(batch, row, example);
      consume(std::as_bytes(std::span(example)));
    }
  }

  const CommandContext& context_;
  const std::vector<std::string> paths_;
  std::set<std::string> told_;  // paths whose order was reported
};

}  // namespace

std::unique_ptr<ExampleSource> cifar_source(const CommandContext& context,
                                            std::vector<std::string> paths) {
  return std::make_unique<CifarSource>(context, std::move(paths));
}

}  // namespace recordpipe
