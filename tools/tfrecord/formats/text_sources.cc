// Reads records from CSV files (csv_examples.h) and JSON lines. CSV files are read twice, first for
// the types of columns and the number of rows (a pipe is stored for the second pass). JSON lines
// are parsed on all cores.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/available_cpus.h"
#include "dataset/parallel/in_order.h"
#include "dataset/toolkit/names.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/toolkit/csv_examples.h"
#include "recordpipe/toolkit/json_examples.h"
#include "recordpipe/toolkit/json_text.h"
#include "tools/tfrecord/formats/example_source.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/io/text_input.h"

namespace recordpipe {
namespace {

class CsvSource final : public ExampleSource {
 public:
  CsvSource(const CommandContext& context, std::vector<std::string> paths,
            const SourceOptions& options)
      : context_(context),
        paths_(std::move(paths)),
        directory_(options.temporary_directory),
        encoding_(options.encoding),
        examples_(options.types,
                  {.delimiter = options.delimiter,
                   .delimiter_hint = "name its delimiter with --delimiter",
                   .encoding_hint = "--encoding latin1 reads it, if that is its encoding"}),
        progress_(context, "look", paths_) {}

  std::optional<uint64_t> count() override {
    look(true);
    return rows_;
  }

  void run(const Consume& consume) override {
    look(false);
    progress_.begin_again("create");
    uint64_t made = 0;
    for (const std::string& path : paths_) {
      CsvTable table = open_again(path);
      for_each_row(table, [&](const std::vector<CsvCell>& row) {
        const std::string record = examples_.record(table, row);
        consume(std::as_bytes(std::span(record)));
        ++made;
      });
    }
    examples_.require_columns();
    if (rows_ && made != *rows_) fail_changed(paths_.front());
  }

 private:
  CsvTable open_again(const std::string& path) {
    if (const auto begun = begun_.extract(path)) return std::move(begun.mapped());
    const auto spool = spools_.find(path);
    CsvTable table =
        examples_.open(spool == spools_.end() ? open_text(context_, path, progress_, encoding_)
                                              : spool->second.open());
    if (!examples_.has_types(table)) fail_changed(path);
    return table;
  }

  [[noreturn]] static void fail_changed(const std::string& path) {
    throw Error(
        {.kind = ErrorKind::corrupted, .path = path, .reason = "was changed while it was read"});
  }

  template <typename Visit>
  void for_each_row(CsvTable& table, Visit visit) {
    while (const auto row = table.next()) {
      throw_if_stopped(context_.stop, table.path());
      visit(*row);
    }
  }

  // Infers the types of columns that --types doesn't name, and counts the rows. A pipe that needs
  // no second pass is read only once, and its rows are not counted.
  void look(bool must_count) {
    if (std::exchange(looked_, true)) return;
    rows_ = 0;
    for (const std::string& path : paths_) {
      const bool is_once = is_read_once(context_.files, path);
      auto source = open_text(context_, path, progress_, encoding_);
      if (is_once)
        source = spools_.try_emplace(path, directory_).first->second.keep(std::move(source));
      CsvTable table = examples_.open(std::move(source));
      if (is_once && !must_count && examples_.has_types(table)) {
        spools_.at(path).stop();
        begun_.emplace(path, std::move(table));
        rows_.reset();
        continue;
      }
      for_each_row(table, [&](const std::vector<CsvCell>& row) {
        examples_.look_at(table, row);
        if (rows_) ++*rows_;
      });
    }
    examples_.end_look();
    print_types();
  }

  // Prints the types that were inferred, and the cells that decided them: a single cell can turn a
  // column of numbers into text.
  void print_types() const {
    constexpr size_t kMax = 100;
    const auto& columns = examples_.inferred();
    for (size_t i = 0; i < std::min(columns.size(), kMax); ++i) {
      const auto& [name, type, reason] = columns[i];
      print_summary(context_, "column " + name_text(name) + ": " + type +
                                  (reason.empty() ? "" : " (" + reason + ")"));
    }
    if (columns.size() > kMax) {
      print_summary(context_, "and " + counted(columns.size() - kMax, "more column"));
    }
  }

  const CommandContext& context_;
  const std::vector<std::string> paths_;
  const std::string directory_;
  const std::string encoding_;
  CsvExamples examples_;
  InputProgress progress_;
  std::map<std::string, Spool> spools_;    // of pipes, by their paths
  std::map<std::string, CsvTable> begun_;  // pipes that are read only once
  bool looked_ = false;
  std::optional<uint64_t> rows_;
};

}  // namespace

std::unique_ptr<ExampleSource> csv_source(const CommandContext& context,
                                          std::vector<std::string> paths,
                                          const SourceOptions& options) {
  return std::make_unique<CsvSource>(context, std::move(paths), options);
}

namespace {

constexpr size_t kBlockSize = size_t{256} << 10;

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t") == line.npos; }

struct Lines {
  JsonSurvey::Place first;
  std::string text = {};
};

struct Block {
  std::vector<std::string> records;
  JsonSurvey survey;
};

// "float and int64"
std::string in_words(const JsonSurvey::Kinds& kinds) {
  std::string words;
  for (const auto& [kind, place] : kinds) {
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
        names_(paths_),
        types_(options.types),
        encoding_(options.encoding),
        threads_(thread_count(options.threads)) {
    std::ranges::replace_if(names_, is_standard_input, "standard input");
  }

  void run(const Consume& consume) override {
    survey_ = JsonSurvey(types_.called);
    InputProgress progress(context_, "create", paths_);
    for (size_t file = 0; file < paths_.size(); ++file) run_file(file, progress, consume);
    require_typed();
    warn_of_mixed();
  }

 private:
  // Throws if --types names a feature that no record has. Otherwise, a mistyped name would go
  // unnoticed.
  void require_typed() const {
    for (const auto& [name, type] : types_.kinds) {
      if (survey_.features().empty() || survey_.features().contains(name)) continue;
      throw Error({.kind = ErrorKind::not_found,
                   .reason = "--types names " + printable(name) + ", which no record has"});
    }
  }
  // Warns about features of several kinds: readers of the records expect one kind, and many
  // programs write 1.0 as 1.
  void warn_of_mixed() {
    for (const auto& [name, kinds] : survey_.features()) {
      if (kinds.size() < 2 || !warned_.insert(name).second) continue;
      const std::string wider = kinds.contains(FeatureKind::bytes) ? "" : "float";
      context_.progress.warn("tfrecord create: " + printable(name) + " is " + in_words(kinds) +
                             (wider.empty() ? ", in different records"
                                            : ", in different records: --types " + printable(name) +
                                                  "=float makes it one"));
    }
  }

  void run_file(size_t file, InputProgress& progress, const Consume& consume) {
    const std::string& path = paths_[file];
    LineReader lines(open_text(context_, path, progress, encoding_));
    parallel::in_order<Lines, Block>(
        {.threads = threads_}, [&] { return next_block(lines, file); },
        [&](const Lines& block) { return block_of(block); },
        [&](const Block& block) {
          survey_.append(block.survey, names_);
          for (const std::string& record : block.records) {
            throw_if_stopped(context_.stop, path);
            consume(std::as_bytes(std::span(record)));
          }
        },
        [](const Lines& block) { return block.text.size(); });
  }

  static std::optional<Lines> next_block(LineReader& lines, size_t file) {
    Lines block = {{file, lines.number() + 1}};
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
    JsonSurvey::Place place = block.first;
    std::string_view rest = block.text;
    for (; !rest.empty(); ++place.line) {
      const size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      if (is_blank(line)) continue;
      try {
        records.push_back(examples.record(line, place));
      } catch (const Error& error) {
        throw Error({.kind = error.kind(),
                     .path = names_[place.file],
                     .reason = "line " + std::to_string(place.line) + ": " + error.reason(),
                     .hint = error.hint()});
      }
    }
    return {std::move(records), examples.survey()};
  }

  const CommandContext& context_;
  const std::vector<std::string> paths_;
  std::vector<std::string> names_;  // for messages
  const FeatureTypes types_;
  const std::string encoding_;
  const size_t threads_;
  JsonSurvey survey_;
  std::set<std::string> warned_;
};

}  // namespace

std::unique_ptr<ExampleSource> json_source(const CommandContext& context,
                                           std::vector<std::string> paths,
                                           const SourceOptions& options) {
  return std::make_unique<JsonSource>(context, std::move(paths), options);
}

}  // namespace recordpipe
