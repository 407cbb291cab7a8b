// Records made of CSV files (csv_examples.h): read twice, first for the types of columns and the
// number of rows. A pipe is kept for the second reading.
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/error.h"
#include "recordpipe/stop.h"
#include "recordpipe/toolkit/csv_examples.h"
#include "tools/tfrecord/formats/example_source.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/spool.h"
#include "tools/tfrecord/io/text_lines.h"

namespace recordpipe {
namespace {

class CsvSource final : public ExampleSource {
 public:
  CsvSource(const CommandContext& context, std::vector<std::string> paths,
            const SourceOptions& options)
      : context_(context),
        paths_(std::move(paths)),
        directory_(options.temporary_directory),
        examples_(options.types),
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
    CsvTable table = examples_.open(spool == spools_.end() ? open_text(context_, path, progress_)
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

  // Finds the types of columns that --types doesn't tell, and counts the rows. A pipe that needs no
  // second reading is read as it comes, and not counted.
  void look(bool must_count) {
    if (std::exchange(looked_, true)) return;
    rows_ = 0;
    for (const std::string& path : paths_) {
      const bool is_once = is_read_once(context_.files, path);
      auto source = open_text(context_, path, progress_);
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
  }

  const CommandContext& context_;
  const std::vector<std::string> paths_;
  const std::string directory_;
  CsvExamples examples_;
  InputProgress progress_;
  std::map<std::string, Spool> spools_;    // of pipes, by their paths
  std::map<std::string, CsvTable> begun_;  // pipes that are read as they come
  bool looked_ = false;
  std::optional<uint64_t> rows_;
};

}  // namespace

std::unique_ptr<ExampleSource> csv_source(const CommandContext& context,
                                          std::vector<std::string> paths,
                                          const SourceOptions& options) {
  return std::make_unique<CsvSource>(context, std::move(paths), options);
}

}  // namespace recordpipe
