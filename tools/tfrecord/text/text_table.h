// Aligned columns and readable numbers, for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/toolkit/names.h"

namespace recordpipe {

// "1,234 bytes"; from 10 KiB on with the size in a larger unit: "30,890,000 bytes (29.5 MiB)".
std::string byte_count(uint64_t bytes);
// "100 %", "33.3 %": of `whole` > 0. Never 100 % for less than all, nor 0 % for more than none.
std::string share_text(uint64_t part, uint64_t whole);
// At most six digits: "3", "0.25", "1.5e+20", "nan".
std::string short_number(double number);
// "2020-09-10 17:39:46 UTC", of seconds since 1970; as a number where it is before, or a year has
// five digits.
std::string time_text(double seconds);
// How many columns of a terminal `text`, UTF-8, takes: code points, as if all were of one width.
size_t text_width(std::string_view text);

enum class Align { left, right };

// Rows of cells, each column as wide as its widest cell and two spaces from the next.
class TextTable {
 public:
  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns, or fewer.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Lines that begin with `indent` and don't end in spaces.
  std::string text(std::string_view indent = "") const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace recordpipe
