// Examples made of CIFAR's archives, batch after batch as they stand there.
#include <utility>

#include "dataset/base/stop.h"
#include "dataset/cifar/archive.h"
#include "dataset/cifar/cifar_example.h"
#include "tools/tfrecord/example_source.h"
#include "tools/tfrecord/inputs.h"

namespace recordpipe {
namespace {

class CifarSource final : public ExampleSource {
 public:
  CifarSource(const CommandContext& context, std::vector<std::string> paths)
      : context_(context), paths_(std::move(paths)) {}

  void run(const Consume& consume) override {
    for (const std::string& path : paths_) {
      read_cifar_archive(open_input(context_, path),
                         [&](const CifarArchiveKind&, size_t, const CifarBatch& batch) {
                           consume_batch(batch, path, consume);
                         });
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
};

}  // namespace

std::unique_ptr<ExampleSource> cifar_source(const CommandContext& context,
                                            std::vector<std::string> paths) {
  return std::make_unique<CifarSource>(context, std::move(paths));
}

}  // namespace recordpipe
