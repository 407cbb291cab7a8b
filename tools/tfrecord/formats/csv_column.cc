#include "tools/tfrecord/formats/csv_column.h"

#include <algorithm>
#include <array>
#include <span>

#include "dataset/toolkit/formats/json_value.h"
#include "dataset/toolkit/formats/number_text.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/example/feature_writer.h"
#include "recordpipe/toolkit/json_examples.h"

namespace recordpipe {
namespace {

// From the narrowest to the widest.
constexpr std::array<std::string_view, 3> kTypes = {"int64", "float", "bytes"};
constexpr size_t kBytes = kTypes.size() - 1;
constexpr size_t kLongestShown = 40;

// 007 and the like: as a number it would lose its zeros.
bool is_code(std::string_view text) {
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

// Whether it is a whole number, or a list with one, that no float32 holds exactly.
bool has_rounded_whole(std::string_view text) {
  if (is_json_cell(text)) {
    try {
      return std::ranges::any_of(parse_json(text).items, [](const JsonValue& value) {
        return value.kind == JsonValue::Kind::integer && is_rounded_by_float(value.integer);
      });
    } catch (const Error&) {
      return false;  // text that begins so
    }
  }
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) return false;
  if (digits == "0") return false;
  const auto value = parse_int64(text);
  return !value || is_rounded_by_float(*value);  // without a value, it is beyond int64
}

}  // namespace

std::optional<std::string> feature_of_cell(const CsvCell& cell, std::string_view type) {
  if (is_json_cell(cell.text)) {
    try {
      if (auto feature = feature_of_json(cell.text, type)) return feature;
    } catch (const Error&) {
      if (type != "bytes") return std::nullopt;  // a list of another type
    }
  }
  if (type == "int64") {
    const auto value = parse_int64(cell.text);
    if (!value) return std::nullopt;
    return int64s_feature(std::span(&*value, 1));
  }
  if (type == "float") {
    const auto value = parse_float(cell.text);
    if (!value) return std::nullopt;
    return floats_feature(std::span(&*value, 1));
  }
  const auto bytes = std::as_bytes(std::span(cell.text));
  return bytes_feature(std::span(&bytes, 1));
}

void CsvColumnGuess::look_at(const CsvCell& cell, const std::string& path, uint64_t line) {
  if (cell.missing() || type_ == kBytes) return;
  // Quotes say that it is text; a list has them for its commas.
  if (is_code(cell.text) || (cell.quoted && !is_json_cell(cell.text))) type_ = kBytes;
  while (type_ < kBytes && !feature_of_cell(cell, kTypes[type_])) ++type_;
  if (type_ == kBytes || rounded_ || !has_rounded_whole(cell.text)) return;
  const bool is_long = cell.text.size() > kLongestShown;
  rounded_ = {path, line, cell.text.substr(0, kLongestShown) + (is_long ? "..." : "")};
}

std::string_view CsvColumnGuess::type(const std::string& name) const {
  const std::string_view type = kTypes[type_];
  if (type != "float" || !rounded_) return type;
  throw Error({.kind = ErrorKind::corrupted,
               .path = rounded_->path,
               .reason = "line " + std::to_string(rounded_->line) + ": column " + printable(name) +
                         ": " + rounded_->text +
                         " is a whole number that a float, which all cells of the column fit, "
                         "can't hold exactly",
               .hint = "--types " + printable(name) + "=float rounds it, --types " +
                       printable(name) + "=bytes keeps its digits"});
}

}  // namespace recordpipe
