// Formats aligned columns and readable numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/toolkit/names.h"
#include "recordpipe/io/file.h"
#include "tools/tfrecord/text/text_style.h"

namespace recordpipe {

// "1,234 bytes"; from 10 KiB on, also in a larger unit: "30,890,000 bytes (29.5 MiB)".
std::string byte_count(uint64_t bytes);
// "100 %", "33.3 %". `whole` must be > 0. Never 100 % if part < whole, never 0 % if part > 0.
std::string share_text(uint64_t part, uint64_t whole);
// At most six digits: "3", "0.25", "1.5e+20", "nan".
std::string short_number(double number);
// "2020-09-10 17:39:46 UTC", from seconds since 1970; a plain number before 1970 and from the year
// 10000 on.
std::string time_text(double seconds);
// The width of `text` (UTF-8) on a terminal: its number of code points, as if all had the same
// width.
size_t text_width(std::string_view text);

enum class Align { left, right };

// Rows of cells; each column has the width of its widest cell, and two spaces after it.
class TextTable {
 public:
  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}

  // Sets a color for each column.
  void paint(std::vector<Color> colors) { colors_ = std::move(colors); }
  // Adds a row with at most as many cells as there are columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Returns lines that begin with `indent`, without trailing spaces.
  std::string text(std::string_view indent = "") const;
  // Writes the rows as lines of CSV.
  void write_csv(ByteSink& out) const;

 private:
  std::vector<Align> columns_;
  std::vector<Color> colors_;  // empty: none
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace recordpipe
