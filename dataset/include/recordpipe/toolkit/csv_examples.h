// Converts CSV to Examples: one Example per row. The header line names the features.
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

#include "recordpipe/example/example_view.h"
#include "recordpipe/io/file.h"
#include "recordpipe/toolkit/json_examples.h"

namespace recordpipe {

// How the text of tables is read.
struct CsvFormat {
  char delimiter = ',';  // is_csv_delimiter() must hold
  // The hints of errors for text that seems to have another delimiter or encoding.
  std::string delimiter_hint = "write it with this delimiter";
  std::string encoding_hint = "convert it to UTF-8, for example with iconv";
};

struct CsvCell {
  std::string text = {};
  bool quoted = false;

  // An empty cell without quotes. "" is not missing: it is the empty string.
  bool missing() const { return text.empty() && !quoted; }
};

// The cells of empty lists whose kind the other cells of the column don't show. An empty list of
// int64 is [].
inline constexpr std::string_view kCsvNoFloats = R"({"float": []})";
inline constexpr std::string_view kCsvNoBytes = R"({"bytes": []})";

// Whether csv_examples.h parses the text of a cell as JSON (a list, {"base64": ...} for binary
// bytes, or one of the cells above). Plain text that starts in this way must itself be encoded as
// JSON.
inline bool is_json_cell(std::string_view text) {
  return text.starts_with('[') || text.starts_with("{\"base64\"") || text == kCsvNoFloats ||
         text == kCsvNoBytes;
}

// Whether `c` can separate the cells of a row: an ASCII character that numbers, words, lists and
// quotes don't contain.
bool is_csv_delimiter(char c);

// Reads CSV, or text with another delimiter, for which is_csv_delimiter() must hold. Rows end with
// "\n" or "\r\n". A quoted cell may contain line ends, delimiters, and doubled quotes. A UTF-8 byte
// order mark at the start is skipped.
class CsvReader {
 public:
  // The maximum number of bytes and of cells in a row. Beyond either, throws Error{limit_exceeded}.
  static constexpr size_t kLongestRow = size_t{1} << 30;
  static constexpr size_t kMaxCells = 100'000;

  // Reads the first bytes.
  explicit CsvReader(std::unique_ptr<ByteSource> source, char delimiter = ',');

  // Returns the next row, or nullopt at the end; skips empty lines. Throws Error{corrupted} with
  // the line for a quote inside an unquoted cell, for text after a closing quote, for an
  // unterminated quote, and for a "\r" outside quotes that is not followed by "\n".
  std::optional<std::vector<CsvCell>> next();
  // The number of the current row's first line, from 1.
  uint64_t line() const { return row_line_; }
  // The number of bytes before the current row.
  uint64_t row_begin() const { return row_begin_; }
  const std::string& path() const { return source_->path(); }

 private:
  int peek();
  int get();
  CsvCell read_cell();
  void read_quoted(CsvCell& cell);
  void pass_carriage_return();
  [[noreturn]] void fail(const char* reason, const char* hint = "") const;

  std::unique_ptr<ByteSource> source_;
  const char delimiter_;
  std::vector<std::byte> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t line_ = 1;
  uint64_t row_line_ = 0;
  uint64_t row_begin_ = 0;
  size_t row_size_ = 0;
};

// Writes a cell. The cell is quoted if `in_quotes` is set, if the text requires it, and if the text
// is empty: an unquoted empty cell would be a missing value.
void write_csv_cell(std::string_view text, ByteSink& out, bool in_quotes = false,
                    char delimiter = ',');
// Writes a part of the text between a cell's quotes; doubles the quotes in that text.
void write_quoted_csv(std::string_view text, ByteSink& out);

// Converts the cell to a serialised Feature; nullopt if the cell is not of the type ("int64",
// "uint64", "float" or "bytes"; see FeatureTypes). A cell that is a JSON list gives a list;
// {"base64": "..."} gives bytes; true and false (also True, TRUE, ...) are the int64s 1 and 0.
std::optional<std::string> feature_of_cell(const CsvCell& cell, std::string_view type);

// Writes a feature as a cell from which feature_of_cell() restores it: a single value as it is,
// several values or none as a JSON list, binary bytes as {"base64": "..."}. Text that would parse
// as a number or a boolean is quoted. `is_kind_known`: whether other cells of the column show the
// kind; otherwise an empty list of floats or bytes is kCsvNoFloats or kCsvNoBytes.
void write_csv_feature(const FeatureView& feature, ByteSink& out, char delimiter = ',',
                       bool is_kind_known = true);

// Infers the narrowest type that fits all cells of a column. A quoted cell is bytes, unless it
// contains JSON. Numbers with a point or an exponent are float, in lists, too. Booleans alone are
// int64, beside numbers bytes.
class CsvColumnGuess {
 public:
  // `path` and `line` are the position of the cell, for messages.
  void look_at(const CsvCell& cell, const std::string& path, uint64_t line);
  // Returns "int64", "float" or "bytes" for the column `name`. Throws Error{corrupted}, with the
  // position, if the type is float and the column has an integer that float32 can't represent
  // exactly (otherwise, for example, an identifier would be rounded to another one) or a number out
  // of the range of float. `types_called`: FeatureTypes::called.
  std::string_view type(const std::string& name, const std::string& types_called) const;
  // Returns the cell that decides the type: "\"n/a\" in line 17"; with `has_path`, "... of a.csv".
  // Empty for integers.
  std::string reason(bool has_path) const;
  // Returns "\"caf\xe9\" in line 3 is not UTF-8, and kept as its bytes" for the first such cell;
  // empty if there is none.
  std::string not_utf8(bool has_path) const;

 private:
  enum class Form { empty_list, boolean, int64, floating, bytes };
  struct Place {
    std::string path;
    uint64_t line;
    std::string text;
    std::string_view how;  // what makes it text, if its letters don't
  };
  struct Cell;

  static Cell read(const CsvCell& cell);
  static std::optional<Cell> read_json(const std::string& text);
  static std::string in_words(const Place& place, bool has_path);
  bool has(Form form) const { return first_.contains(form); }
  bool is_bytes() const;
  [[noreturn]] void fail(const Place& place, const std::string& name, const std::string& reason,
                         std::string hint) const;

  std::map<Form, Place> first_;        // the first cell of each form
  std::optional<Place> rounded_;       // the first integer that float32 can't represent
  std::optional<Place> out_of_range_;  // the first number out of the range of float
  std::optional<Place> not_utf8_;      // the first text in another encoding
  bool all_uint64_ = true;             // whether --types uint64 can be declared
};

// The type that was inferred for a column, and why.
struct CsvColumnType {
  std::string name;
  std::string type;
  std::string reason;  // CsvColumnGuess::reason() and not_utf8(), with CsvFormat::encoding_hint
};

// A CSV file whose header line was read.
class CsvTable {
 public:
  // Returns the next row, which has one cell per column; nullopt at the end. Throws the errors of
  // CsvReader::next(), and Error{corrupted} for a row with another number of cells.
  std::optional<std::vector<CsvCell>> next();

  const std::vector<std::string>& columns() const { return columns_; }
  // The number of the current row's first line, from 1.
  uint64_t line() const { return reader_->line(); }
  const std::string& path() const { return reader_->path(); }

 private:
  friend class CsvExamples;

  std::unique_ptr<CsvReader> reader_;
  std::vector<std::string> columns_;
  std::vector<CsvColumnGuess*> guesses_;  // one per column; null if the type is known
};

// Converts one or more tables to Examples. A column's type is given in `types`; otherwise it is the
// narrowest type for the column's cells in all tables, so look_at() must see all rows before the
// first record(). Not thread-safe. Must outlive its tables and must not move.
class CsvExamples {
 public:
  explicit CsvExamples(FeatureTypes types = {}, CsvFormat format = {});
  CsvExamples(const CsvExamples&) = delete;
  CsvExamples& operator=(const CsvExamples&) = delete;

  // Reads the header line. Throws Error{corrupted} for duplicate column names and for a name that
  // is not UTF-8 (with its line and byte), Error{unsupported} for a separator other than the
  // delimiter, and the errors of CsvReader.
  CsvTable open(std::unique_ptr<ByteSource> source);
  // Whether the types of all columns of `table` are known.
  bool has_types(const CsvTable& table) const;

  // Updates the inferred types of the columns whose types aren't known yet.
  void look_at(const CsvTable& table, const std::vector<CsvCell>& row);
  // Ends type inference: call it after look_at() for all rows of all tables. Throws the errors of
  // CsvColumnGuess::type().
  void end_look();
  // The types that end_look() has inferred, sorted by name.
  const std::vector<CsvColumnType>& inferred() const { return inferred_; }

  // Returns a row as a serialised Example; requires has_types(table). Empty cells are omitted.
  // Throws Error{corrupted}, with the position, for a cell that is not of its column's type.
  std::string record(const CsvTable& table, const std::vector<CsvCell>& row) const;

  // Must be called after all tables. Throws Error{not_found} for a name in `types` that is not a
  // column.
  void require_columns() const;

 private:
  void require_delimiter(const CsvTable& table) const;

  const CsvFormat format_;
  size_t tables_ = 0;
  std::vector<CsvColumnType> inferred_;
  FeatureTypes types_;  // the given types; after end_look() also the inferred ones
  std::set<std::string> columns_;
  std::map<std::string, CsvColumnGuess> guesses_;
};

}  // namespace recordpipe
