// Reads records from LibSVM's text (libsvm_examples.h), line by line.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/toolkit/libsvm_examples.h"
#include "tools/tfrecord/formats/example_source.h"
#include "tools/tfrecord/io/input_progress.h"
#include "tools/tfrecord/io/text_input.h"

namespace recordpipe {
namespace {

class LibsvmSource final : public ExampleSource {
 public:
  LibsvmSource(const CommandContext& context, std::vector<std::string> paths,
               const SourceOptions& options)
      : context_(context), paths_(std::move(paths)), encoding_(options.encoding) {}

  void run(const Consume& consume) override {
    InputProgress progress(context_, "create", paths_);
    for (const std::string& path : paths_) {
      LineReader lines(open_text(context_, path, progress, encoding_));
      while (const auto line = lines.next()) {
        throw_if_stopped(context_.stop, path);
        if (const auto record = example_of(*line, lines)) {
          consume(std::as_bytes(std::span(*record)));
        }
      }
    }
  }

 private:
  static std::optional<std::string> example_of(std::string_view line, const LineReader& lines) {
    try {
      return example_of_libsvm(line);
    } catch (const Error& error) {
      throw Error({.kind = error.kind(),
                   .path = lines.path(),
                   .reason = "line " + std::to_string(lines.number()) + ": " + error.reason(),
                   .hint = error.hint()});
    }
  }

  const CommandContext& context_;
  const std::vector<std::string> paths_;
  const std::string encoding_;
};

}  // namespace

std::unique_ptr<ExampleSource> libsvm_source(const CommandContext& context,
                                             std::vector<std::string> paths,
                                             const SourceOptions& options) {
  return std::make_unique<LibsvmSource>(context, std::move(paths), options);
}

}  // namespace recordpipe
