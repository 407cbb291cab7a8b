// Examples made of CIFAR's archives, batch after batch as they stand there, which is said: the
// published ones are in no order, and the test images are among the others.
#include <set>
#include <utility>

#include <fmt/format.h>

#include "dataset/applications/cifar/cifar_example.h"
#include "recordpipe/cifar/archive.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/url_path.h"
#include "recordpipe/stop.h"
#include "tools/tfrecord/formats/example_source.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
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
  std::set<std::string> told_;  // paths whose order was said
};

}  // namespace

std::unique_ptr<ExampleSource> cifar_source(const CommandContext& context,
                                            std::vector<std::string> paths) {
  return std::make_unique<CifarSource>(context, std::move(paths));
}

}  // namespace recordpipe
