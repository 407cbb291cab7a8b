#include "tools/tfrecord/text/text_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <span>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "recordpipe/toolkit/csv_examples.h"

namespace recordpipe {

std::string byte_count(uint64_t bytes) {
  std::string text = counted(bytes, "byte");
  constexpr std::array<std::string_view, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 10 * 1024) return text;
  double size = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (size >= 1024 && unit + 1 < kUnits.size()) {
    size /= 1024;
    ++unit;
  }
  return fmt::format("{} ({:.{}f} {})", text, size, size < 100 ? 1 : 0, kUnits[unit]);
}

std::string time_text(double seconds) {
  constexpr double kYear10000 = 253402300800.0;
  if (!(seconds >= 0 && seconds < kYear10000)) return short_number(seconds);
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string share_text(uint64_t part, uint64_t whole) {
  if (part == whole) return "100 %";
  if (part == 0) return "0 %";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.1f} %", std::clamp(percent, 0.1, 99.9));
}

std::string short_number(double number) { return fmt::format("{:.6g}", number); }

size_t text_width(std::string_view text) {
  // Continuation bytes of UTF-8 begin with the bits 10.
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string TextTable::text(std::string_view indent) const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], text_width(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    out += indent;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - text_width(row[i]), ' ');
      const std::string cell =
          painted(row[i], colors_.empty() ? Color::none : colors_[i], !colors_.empty());
      if (i > 0) out += "  ";
      out += columns_[i] == Align::right ? padding + cell : cell + padding;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

void TextTable::write_csv(ByteSink& out) const {
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) out.write(std::as_bytes(std::span(",", 1)));
      if (!row[i].empty()) write_csv_cell(row[i], out);  // empty: a missing value
    }
    out.write(std::as_bytes(std::span("\n", 1)));
  }
}

}  // namespace recordpipe
