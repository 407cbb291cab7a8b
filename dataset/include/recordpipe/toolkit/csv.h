// Comma-separated values (RFC 4180): read strictly, written so that they read back the same.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/file.h"

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

}  // namespace recordpipe
