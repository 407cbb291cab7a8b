#include <algorithm>
#include <span>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/toolkit/csv_examples.h"

namespace recordpipe {
namespace {

constexpr size_t kCsvBufferSize = size_t{256} << 10;
constexpr int kEnd = -1;
// The byte order mark that spreadsheets write.
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

void write(std::string_view text, ByteSink& out) { out.write(std::as_bytes(std::span(text))); }

bool needs_quotes(std::string_view text, char delimiter) {
  return text.empty() || text.find_first_of("\"\r\n") != text.npos ||
         text.find(delimiter) != text.npos || text.starts_with(kByteOrderMark);
}

}  // namespace

CsvReader::CsvReader(std::unique_ptr<ByteSource> source, char delimiter)
    : source_(std::move(source)), delimiter_(delimiter), buffer_(kCsvBufferSize) {
  end_ = read_fully(*source_, std::span(buffer_).first(kByteOrderMark.size()));
  const std::string_view head(reinterpret_cast<const char*>(buffer_.data()), end_);
  if (head == kByteOrderMark) row_begin_ = begin_ = end_;
}

int CsvReader::peek() {
  if (begin_ == end_) {
    begin_ = 0;
    end_ = source_->read(buffer_);
    if (end_ == 0) return kEnd;
  }
  return std::to_integer<int>(buffer_[begin_]);
}

int CsvReader::get() {
  const int c = peek();
  if (c == kEnd) return c;
  ++begin_;
  if (c == '\n') ++line_;
  if (++row_size_ > kLongestRow) {
    throw Error({.kind = ErrorKind::limit_exceeded,
                 .path = path(),
                 .reason = "line " + std::to_string(row_line_) + ": a row of more than 1 GiB"});
  }
  return c;
}

std::optional<std::vector<CsvCell>> CsvReader::next() {
  while (true) {
    if (peek() == kEnd) return std::nullopt;
    row_line_ = line_;
    row_begin_ += std::exchange(row_size_, 0);
    std::vector<CsvCell> row;
    do {
      if (row.size() == kMaxCells) {
        throw Error({.kind = ErrorKind::limit_exceeded,
                     .path = path(),
                     .reason = "line " + std::to_string(row_line_) + ": more than 100,000 cells"});
      }
      row.push_back(read_cell());
    } while (peek() == delimiter_ && get());
    get();  // the end of the line or of the file
    if (row.size() > 1 || !row.front().missing()) return row;
  }
}

CsvCell CsvReader::read_cell() {
  CsvCell cell;
  if (peek() == '"') {
    read_quoted(cell);
    if (peek() == '\r') pass_carriage_return();
    const int c = peek();
    if (c != delimiter_ && c != '\n' && c != kEnd) fail("text after a closing quote");
    return cell;
  }
  for (int c = peek(); c != delimiter_ && c != '\n' && c != kEnd; c = peek()) {
    if (c == '"') fail("a quote in the middle of a cell: put the cell in quotes and double it");
    if (c == '\r') {
      pass_carriage_return();
    } else {
      cell.text += static_cast<char>(get());
    }
  }
  return cell;
}

void CsvReader::pass_carriage_return() {
  get();
  if (const int c = peek(); c != '\n' && c != kEnd) {
    fail("a carriage return in the middle of a line",
         "lines end with LF or CR LF; within a cell it needs quotes around the cell");
  }
}

void CsvReader::read_quoted(CsvCell& cell) {
  cell.quoted = true;
  get();
  while (true) {
    const int c = get();
    if (c == kEnd) fail("a quote that isn't closed");
    if (c == '"') {
      if (peek() != '"') return;
      get();
    }
    cell.text += static_cast<char>(c);
  }
}

void CsvReader::fail(const char* reason, const char* hint) const {
  throw Error({.kind = ErrorKind::corrupted,
               .path = path(),
               .reason = "line " + std::to_string(row_line_) + ": " + reason,
               .hint = hint});
}

bool is_csv_delimiter(char c) {
  constexpr std::string_view kOfCells = "\"\r\n+-.[]{}_";
  const bool is_alphanumeric = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
  return c > 0 && c < 0x7f && !is_alphanumeric && kOfCells.find(c) == kOfCells.npos;
}

void write_csv_cell(std::string_view text, ByteSink& out, bool in_quotes, char delimiter) {
  if (!in_quotes && !needs_quotes(text, delimiter)) return write(text, out);
  write("\"", out);
  write_quoted_csv(text, out);
  write("\"", out);
}

void write_quoted_csv(std::string_view text, ByteSink& out) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('"'), text.size() - 1) + 1;
    write(text.substr(0, end), out);
    if (text[end - 1] == '"') write("\"", out);
    text.remove_prefix(end);
  }
}

}  // namespace recordpipe
