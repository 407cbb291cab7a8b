// Makes Examples of CSV: one a row, features named by the header line.
//
//     CsvExamples examples;
//     CsvTable first = examples.open(posix_file_system().open_source("a.csv"));
//     while (const auto row = first.next()) examples.look_at(first, *row);
//     examples.end_look();
//     CsvTable again = examples.open(posix_file_system().open_source("a.csv"));
//     while (const auto row = again.next()) use(examples.record(again, *row));
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/example_view.h"
#include "recordpipe/file.h"
#include "recordpipe/toolkit/json_examples.h"

namespace recordpipe {

struct CsvCell {
  std::string text = {};
  bool quoted = false;

  // Nothing at all, which is not the same as "".
  bool missing() const { return text.empty() && !quoted; }
};

// Whether csv_examples.h takes a cell's text for JSON (a list, or bytes that are no text): plain
// text that begins so has to be written in another way.
inline bool is_json_cell(std::string_view text) {
  return text.starts_with('[') || text.starts_with("{\"base64\"");
}

// Rows end with "\n" or "\r\n"; a cell in quotes may hold both, commas, and quotes doubled. A byte
// order mark (UTF-8) at the start is skipped.
class CsvReader {
 public:
  // Rows longer than this, or of more cells, are refused: Error{limit_exceeded}.
  static constexpr size_t kLongestRow = size_t{1} << 30;
  static constexpr size_t kMostCells = 100'000;

  // Reads the first bytes.
  explicit CsvReader(std::unique_ptr<ByteSource> source);

  // The next row that is not an empty line; nothing at the end. Throws Error{corrupted} with the
  // line for a quote in the middle of a cell, for text behind a quoted one, for a quote that
  // doesn't end, and for a "\r" outside of quotes that no "\n" follows.
  std::optional<std::vector<CsvCell>> next();
  // Of the row's first line, from 1.
  uint64_t line() const { return row_line_; }
  const std::string& path() const { return source_->path(); }

 private:
  int peek();
  int get();
  CsvCell read_cell();
  void read_quoted(CsvCell& cell);
  void pass_carriage_return();
  [[noreturn]] void fail(const char* reason, const char* hint = "") const;

  std::unique_ptr<ByteSource> source_;
  std::vector<std::byte> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t line_ = 1;
  uint64_t row_line_ = 0;
  size_t row_size_ = 0;
};

// Writes a cell, in quotes if `in_quotes`, if its text needs them, and if it is empty: nothing
// stands for a missing cell.
void write_csv_cell(std::string_view text, ByteSink& out, bool in_quotes = false);
// A part of what stands between a cell's quotes.
void write_quoted_csv(std::string_view text, ByteSink& out);

// The cell as a serialised Feature, or nothing where it is not of the type ("int64", "float" or
// "bytes"). A cell that is a JSON list is a list, and {"base64": "..."} bytes.
std::optional<std::string> feature_of_cell(const CsvCell& cell, std::string_view type);

// Writes a feature as a cell that gives it back: one value as it is, none or several as a JSON
// list, bytes that are no text as {"base64": "..."}; text that reads as a number stands in quotes.
void write_csv_feature(const FeatureView& feature, ByteSink& out);

// The narrowest type that all the cells of a column fit. A cell in quotes is bytes, unless it holds
// JSON.
class CsvColumnGuess {
 public:
  // `path` and `line` are where it stands.
  void look_at(const CsvCell& cell, const std::string& path, uint64_t line);
  // "int64", "float" or "bytes" for the column of this name. Throws Error{corrupted}, with the
  // place, where it is float and has a whole number that no float32 holds exactly: an identifier,
  // for example, that would become another. `types_called`: FeatureTypes::called.
  std::string_view type(const std::string& name, const std::string& types_called) const;

 private:
  struct Place {
    std::string path;
    uint64_t line;
    std::string text;
  };

  size_t type_ = 0;
  std::optional<Place> rounded_ = {};  // the first such number
};

// A file whose header line was read.
class CsvTable {
 public:
  // The next row, of as many cells as there are columns; nothing at the end. Throws what
  // CsvReader::next() throws, and Error{corrupted} for a row of another length.
  std::optional<std::vector<CsvCell>> next();

  const std::vector<std::string>& columns() const { return columns_; }
  // Of the row's first line, from 1.
  uint64_t line() const { return reader_->line(); }
  const std::string& path() const { return reader_->path(); }

 private:
  friend class CsvExamples;

  std::unique_ptr<CsvReader> reader_;
  std::vector<std::string> columns_;
  std::vector<CsvColumnGuess*> guesses_;  // of the columns; null where the type is known
};

// Examples of one or more tables. A column's type is the one in `types`, or else the narrowest that
// its cells in all tables fit: these are looked at first. One thread at a time. It must live as
// long as its tables and stay where it is.
class CsvExamples {
 public:
  explicit CsvExamples(FeatureTypes types = {});
  CsvExamples(const CsvExamples&) = delete;
  CsvExamples& operator=(const CsvExamples&) = delete;

  // Reads the header line. Throws Error{corrupted} for two columns of one name, Error{unsupported}
  // for values that are separated by something else than commas, and what CsvReader throws.
  CsvTable open(std::unique_ptr<ByteSource> source);
  // Whether the types of all columns are known.
  bool has_types(const CsvTable& table) const;

  // Guesses types from a row's cells, in columns whose type isn't known.
  void look_at(const CsvTable& table, const std::vector<CsvCell>& row);
  // All rows of all tables were looked at: now the types are known. Throws what
  // CsvColumnGuess::type() throws.
  void end_look();

  // A row of a table that has_types(), as a serialised Example. An empty cell is no feature. Throws
  // Error{corrupted}, with the place, for a cell that is not of its column's type.
  std::string record(const CsvTable& table, const std::vector<CsvCell>& row) const;

  // After all tables: throws Error{not_found} for a name in `types` that is no column.
  void require_columns() const;

 private:
  void require_commas(const CsvTable& table) const;

  FeatureTypes types_;  // given, then also found
  std::set<std::string> columns_;
  std::map<std::string, CsvColumnGuess> guesses_;
};

}  // namespace recordpipe
