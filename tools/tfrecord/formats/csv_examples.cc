// Examples made of CSV files: one a row, features named by the header line.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/error.h"
#include "recordpipe/internal/example/feature_writer.h"
#include "recordpipe/internal/example/wire_format.h"
#include "recordpipe/stop.h"
#include "tools/tfrecord/formats/csv.h"
#include "tools/tfrecord/formats/csv_column.h"
#include "tools/tfrecord/formats/example_source.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/spool.h"
#include "tools/tfrecord/io/text_lines.h"

namespace recordpipe {
namespace {

// A file whose header line was read.
struct Table {
  std::unique_ptr<CsvReader> reader;
  std::vector<std::string> columns;
};

class CsvSource final : public ExampleSource {
 public:
  CsvSource(const CommandContext& context, std::vector<std::string> paths,
            const SourceOptions& options)
      : context_(context),
        paths_(std::move(paths)),
        directory_(options.temporary_directory),
        types_(options.types),
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
      Table table = open_again(path);
      for_each_row(table, [&](const std::vector<CsvCell>& row) {
        const std::string record = record_of(table, row);
        consume(std::as_bytes(std::span(record)));
        ++made;
      });
    }
    require_known();
    if (rows_ && made != *rows_) fail_changed(paths_.front());
  }

 private:
  using Columns = std::vector<std::string>;

  Table table_of(std::unique_ptr<ByteSource> source) {
    auto reader = std::make_unique<CsvReader>(std::move(source));
    Columns columns = columns_of(*reader);
    require_commas(reader->path(), columns);
    known_.insert(columns.begin(), columns.end());
    return {std::move(reader), std::move(columns)};
  }

  Table open_again(const std::string& path) {
    if (const auto begun = begun_.extract(path)) return std::move(begun.mapped());
    const auto spool = spools_.find(path);
    Table table = table_of(spool == spools_.end() ? open_text(context_, path, progress_)
                                                  : spool->second.open());
    if (!std::ranges::all_of(table.columns, [&](const auto& name) { return is_told(name); })) {
      fail_changed(path);
    }
    return table;
  }

  bool is_told(const std::string& column) const { return types_.kinds.contains(column); }

  [[noreturn]] static void fail_changed(const std::string& path) {
    throw Error(
        {.kind = ErrorKind::corrupted, .path = path, .reason = "was changed while it was read"});
  }

  template <typename Visit>
  void for_each_row(Table& table, Visit visit) {
    CsvReader& reader = *table.reader;
    while (const auto row = reader.next()) {
      if (row->size() != table.columns.size()) {
        throw Error({.kind = ErrorKind::corrupted,
                     .path = reader.path(),
                     .reason = "line " + std::to_string(reader.line()) + ": " +
                               std::to_string(row->size()) + " cells, where the header has " +
                               std::to_string(table.columns.size())});
      }
      throw_if_stopped(context_.stop, reader.path());
      visit(*row);
    }
  }

  // A name in --types that was mistyped would go unnoticed.
  void require_known() const {
    for (const auto& [name, type] : types_.kinds) {
      if (known_.empty() || known_.contains(name)) continue;
      throw Error({.kind = ErrorKind::not_found,
                   .reason = "--types names " + printable(name) + ", which is no column"});
    }
  }

  // Values separated by something else come as one column, which nobody wants.
  void require_commas(const std::string& path, const Columns& columns) const {
    if (columns.size() != 1 || types_.kinds.contains(columns.front())) return;
    const size_t at = columns.front().find_first_of(";\t|");
    if (at == std::string::npos) return;
    const std::string name = printable(columns.front());
    throw Error(
        {.kind = ErrorKind::unsupported,
         .path = path,
         .reason = "one column, named \"" + name + "\": values should be separated by commas",
         .hint = "write it with commas, or give --types '" + name + "=bytes' if it is one"});
  }

  static Columns columns_of(CsvReader& reader) {
    Columns columns;
    const auto header = reader.next();
    if (!header) return columns;
    std::map<std::string, int> times;
    for (const CsvCell& cell : *header) {
      const std::string& name = cell.text;
      if (++times[name] > 1) {
        throw Error({.kind = ErrorKind::corrupted,
                     .path = reader.path(),
                     .reason = "line 1: two columns named \"" + printable(name) + "\""});
      }
      columns.push_back(name);
    }
    return columns;
  }

  // Finds the types of columns that --types doesn't tell, and counts the rows. A pipe is kept for
  // the second reading, unless it needs none: then it is read as it comes, and not counted.
  void look(bool must_count) {
    if (std::exchange(looked_, true)) return;
    std::map<std::string, CsvColumnGuess> guesses;
    rows_ = 0;
    for (const std::string& path : paths_) {
      const bool is_once = is_read_once(context_.files, path);
      auto source = open_text(context_, path, progress_);
      if (is_once)
        source = spools_.try_emplace(path, directory_).first->second.keep(std::move(source));
      Table table = table_of(std::move(source));
      const bool all_told =
          std::ranges::all_of(table.columns, [&](const auto& name) { return is_told(name); });
      if (is_once && all_told && !must_count) {
        spools_.at(path).stop();
        begun_.emplace(path, std::move(table));
        rows_.reset();
        continue;
      }
      std::vector<CsvColumnGuess*> columns;
      for (const std::string& name : table.columns) {
        columns.push_back(is_told(name) ? nullptr : &guesses[name]);
      }
      for_each_row(table, [&](const std::vector<CsvCell>& row) {
        for (size_t i = 0; i < row.size(); ++i) {
          if (columns[i]) columns[i]->look_at(row[i], table.reader->path(), table.reader->line());
        }
        if (rows_) ++*rows_;
      });
    }
    for (const auto& [name, guess] : guesses) types_.kinds.emplace(name, guess.type(name));
  }

  std::string record_of(const Table& table, const std::vector<CsvCell>& row) const {
    SerializedFeatures features;
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i].missing()) continue;
      const std::string& name = table.columns[i];
      const std::string& type = types_.kinds.at(name);
      auto feature = feature_of_cell(row[i], type);
      if (!feature) {
        throw Error({.kind = ErrorKind::corrupted,
                     .path = table.reader->path(),
                     .reason = "line " + std::to_string(table.reader->line()) + ": column " +
                               printable(name) + ": \"" + printable(row[i].text) + "\" is no " +
                               type});
      }
      features.emplace(name, *std::move(feature));
    }
    std::string record;
    append_feature_map(kExampleFeatures, features, record);
    return record;
  }

  const CommandContext& context_;
  const std::vector<std::string> paths_;
  const std::string directory_;
  FeatureTypes types_;  // given, then also found
  InputProgress progress_;
  std::set<std::string> known_;          // columns
  std::map<std::string, Spool> spools_;  // of pipes, by their paths
  std::map<std::string, Table> begun_;   // pipes that are read as they come
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
