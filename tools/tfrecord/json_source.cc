// Records made of files of JSON lines, on all cores.
#include <memory>
#include <set>
#include <utility>

#include "dataset/base/error.h"
#include "dataset/base/stop.h"
#include "tools/tfrecord/example_source.h"
#include "tools/tfrecord/json_examples.h"
#include "tools/tfrecord/json_text.h"
#include "tools/tfrecord/parallel_in_order.h"
#include "tools/tfrecord/text_lines.h"

namespace recordpipe {
namespace {

constexpr size_t kBlockSize = size_t{256} << 10;

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t") == line.npos; }

struct Lines {
  std::string path;
  uint64_t first;  // its number, from 1
  std::string text = {};
};

struct Block {
  std::vector<std::string> records;
  JsonExamples::Found found;
};

// "float and int64"
std::string in_words(const std::set<FeatureKind>& kinds) {
  std::string words;
  for (const FeatureKind kind : kinds) {
    words.append(words.empty() ? "" : " and ").append(json_kind(kind));
  }
  return words;
}

class JsonSource final : public ExampleSource {
 public:
  JsonSource(const CommandContext& context, std::vector<std::string> paths,
             const SourceOptions& options)
      : context_(context),
        paths_(std::move(paths)),
        types_(options.types),
        threads_(thread_count(options.threads)) {}

  void run(const Consume& consume) override {
    found_.clear();
    for (const std::string& path : paths_) run_file(path, consume);
    require_typed();
    warn_of_mixed();
  }

 private:
  // A name that was mistyped would go unnoticed.
  void require_typed() const {
    for (const auto& [name, type] : types_) {
      if (found_.empty() || found_.contains(name)) continue;
      throw Error({.kind = ErrorKind::not_found,
                   .reason = "--types names " + printable(name) + ", which no record has"});
    }
  }
  // A program that reads them expects one kind; and 1.0 becomes 1 on its way through many.
  void warn_of_mixed() {
    for (const auto& [name, kinds] : found_) {
      if (kinds.size() < 2 || !warned_.insert(name).second) continue;
      const std::string wider = kinds.contains(FeatureKind::bytes) ? "" : "float";
      context_.progress.warn("tfrecord create: " + printable(name) + " is " + in_words(kinds) +
                             (wider.empty() ? ", in different records"
                                            : ", in different records: --types " + printable(name) +
                                                  "=float makes it one"));
    }
  }

  void run_file(const std::string& path, const Consume& consume) {
    LineReader lines(open_text(context_, path));
    uint64_t done = 0;
    parallel_in_order<Lines, Block>(
        threads_, [&] { return next_block(lines); },
        [&](const Lines& block) { return block_of(block); },
        [&](const Block& block) {
          for (const auto& [name, kinds] : block.found)
            found_[name].insert(kinds.begin(), kinds.end());
          for (const std::string& record : block.records) {
            throw_if_stopped(context_.stop, path);
            done += record.size();
            consume(std::as_bytes(std::span(record)));
          }
          context_.progress.update({.activity = "create", .done = done});
        },
        [](const Lines& block) { return block.text.size(); });
  }

  static std::optional<Lines> next_block(LineReader& lines) {
    Lines block = {lines.path(), lines.number() + 1};
    while (block.text.size() < kBlockSize) {
      const auto line = lines.next();
      if (!line) break;
      block.text.append(*line).append("\n");
    }
    if (block.text.empty()) return std::nullopt;
    return block;
  }

  Block block_of(const Lines& block) const {
    std::vector<std::string> records;
    JsonExamples examples(types_);
    uint64_t number = block.first;
    std::string_view rest = block.text;
    for (; !rest.empty(); ++number) {
      const size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      if (is_blank(line)) continue;
      try {
        records.push_back(examples.record(line));
      } catch (const Error& error) {
        throw Error({.kind = error.kind(),
                     .path = block.path,
                     .reason = "line " + std::to_string(number) + ": " + error.reason()});
      }
    }
    return {std::move(records), examples.found()};
  }

  const CommandContext& context_;
  const std::vector<std::string> paths_;
  const FeatureTypes types_;
  const size_t threads_;
  JsonExamples::Found found_;
  std::set<std::string> warned_;
};

}  // namespace

std::unique_ptr<ExampleSource> json_source(const CommandContext& context,
                                           std::vector<std::string> paths,
                                           const SourceOptions& options) {
  return std::make_unique<JsonSource>(context, std::move(paths), options);
}

}  // namespace recordpipe
