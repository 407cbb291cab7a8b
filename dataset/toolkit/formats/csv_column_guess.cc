// Infers the types of CSV's columns from their cells.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "dataset/example/feature_name.h"
#include "dataset/example/nearest_float.h"
#include "dataset/toolkit/formats/json_value.h"
#include "dataset/toolkit/number_text.h"
#include "recordpipe/base/error.h"
#include "recordpipe/toolkit/csv_examples.h"

namespace recordpipe {
namespace {

// Returns the beginning of a long text, for messages.
std::string shortened(std::string_view text) {
  constexpr size_t kMax = 40;
  return printable(text.substr(0, kMax)) + (text.size() > kMax ? "..." : "");
}

// Returns whether `text` is a code such as 007, which would lose its zeros as a number.
bool is_code(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

// Whether `text` is a whole number that float can't represent exactly.
bool is_rounded_whole_number(const std::string& text) {
  if (text.find_first_not_of("-0123456789") != text.npos) return false;
  const auto nearest = parse_float(text);
  if (!nearest) return true;
  std::array<char, std::numeric_limits<float>::max_exponent10 + 3> digits;  // and the sign
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *nearest,
                                 std::chars_format::fixed, 0)
                       .ptr;
  return text != std::string_view(digits.data(), static_cast<size_t>(end - digits.data()));
}

}  // namespace

struct CsvColumnGuess::Cell {
  Form form;
  std::string_view how = {};
  bool is_rounded = false;        // has a whole number that float can't represent exactly
  std::string out_of_range = {};  // a number of the cell that is out of the range of float
};

// Returns std::nullopt for text that only begins like JSON.
std::optional<CsvColumnGuess::Cell> CsvColumnGuess::read_json(const std::string& text) {
  if (text == kCsvNoFloats) return Cell{Form::floating};
  if (text == kCsvNoBytes) return Cell{Form::bytes};
  JsonValue list;
  try {
    list = parse_json(text);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) return std::nullopt;
    return Cell{.form = Form::floating, .out_of_range = shortened(text)};  // beyond double
  }
  if (list.is_base64()) return Cell{Form::bytes};
  if (list.kind != JsonValue::Kind::array) return std::nullopt;
  if (list.items.empty()) return Cell{Form::empty_list};
  if (std::ranges::all_of(list.items, &JsonValue::is_bytes)) return Cell{Form::bytes};
  Cell cell{Form::boolean};
  for (const JsonValue& item : list.items) {
    if (item.kind == JsonValue::Kind::integer && item.text == "-0") {
      cell.form = Form::floating;  // an integer has no sign of 0
    } else if (item.kind == JsonValue::Kind::integer) {
      if (cell.form == Form::boolean && !item.text.empty()) cell.form = Form::int64;
      if (is_rounded_by_float(item.integer)) cell.is_rounded = true;
    } else if (item.kind == JsonValue::Kind::floating) {
      cell.form = Form::floating;
      if (is_rounded_whole_number(item.text)) cell.is_rounded = true;
      if (!parse_float(item.text)) cell.out_of_range = shortened(item.text);
    } else {
      return std::nullopt;
    }
  }
  return cell;
}

CsvColumnGuess::Cell CsvColumnGuess::read(const CsvCell& cell) {
  const std::string& text = cell.text;
  if (is_json_cell(text)) {
    if (auto json = read_json(text)) return *std::move(json);
    return {.form = Form::bytes, .how = ", which is no list of one type"};
  }
  if (cell.quoted) return {.form = Form::bytes, .how = is_number(text) ? ", in quotes" : ""};
  if (is_code(text)) return {.form = Form::bytes, .how = ", with a zero in front"};
  if (const auto value = parse_int64(text)) {
    return {.form = Form::int64, .is_rounded = is_rounded_by_float(*value)};
  }
  if (parse_boolean(text)) return {.form = Form::boolean};
  if (!is_number(text)) return {.form = Form::bytes};
  return {.form = Form::floating,
          .is_rounded = is_rounded_whole_number(text),
          .out_of_range = parse_float(text) ? "" : shortened(text)};
}

void CsvColumnGuess::look_at(const CsvCell& cell, const std::string& path, uint64_t line) {
  if (!not_utf8_ && utf8_size(cell.text) < cell.text.size()) {
    not_utf8_ = Place{path, line, '"' + shortened(cell.text) + '"', {}};
  }
  if (cell.missing() || has(Form::bytes)) return;
  const Cell its = read(cell);
  const bool is_uint64 = its.form == Form::int64 ? cell.text.find('-') == cell.text.npos
                                                 : parse_uint64_bits(cell.text).has_value();
  all_uint64_ = all_uint64_ && is_uint64;
  if (has(its.form) && !its.is_rounded && its.out_of_range.empty()) return;
  const std::string quote = its.form == Form::bytes ? "\"" : "";
  const Place place = {path, line, quote + shortened(cell.text) + quote, its.how};
  first_.try_emplace(its.form, place);
  if (its.is_rounded && !rounded_) rounded_ = place;
  if (!its.out_of_range.empty() && !out_of_range_) {
    out_of_range_ = {path, line, its.out_of_range, {}};
  }
}

bool CsvColumnGuess::is_bytes() const {
  return has(Form::bytes) || (has(Form::boolean) && (has(Form::int64) || has(Form::floating)));
}

std::string_view CsvColumnGuess::type(const std::string& name,
                                      const std::string& types_called) const {
  if (is_bytes()) return "bytes";
  if (!has(Form::floating)) return "int64";
  const std::string as_bytes = types_called + " " + printable(name) + "=bytes keeps its digits";
  if (out_of_range_) fail(*out_of_range_, name, out_of_float_range(out_of_range_->text), as_bytes);
  if (rounded_) {
    const std::string as_uint64 =
        all_uint64_ ? ", " + types_called + " " + printable(name) + "=uint64 keeps its bits" : "";
    fail(*rounded_, name,
         rounded_->text +
             " is a whole number that a float, which all cells of the column fit, can't represent "
             "exactly",
         types_called + " " + printable(name) + "=float rounds it, " + as_bytes + as_uint64);
  }
  return "float";
}

void CsvColumnGuess::fail(const Place& place, const std::string& name, const std::string& reason,
                          std::string hint) const {
  throw Error({.kind = ErrorKind::corrupted,
               .path = place.path,
               .reason = "line " + std::to_string(place.line) + ": column " + printable(name) +
                         ": " + reason,
               .hint = std::move(hint)});
}

std::string CsvColumnGuess::in_words(const Place& place, bool has_path) {
  return place.text + " in line " + std::to_string(place.line) +
         (has_path ? " of " + printable(place.path) : "") + std::string(place.how);
}

std::string CsvColumnGuess::not_utf8(bool has_path) const {
  if (!not_utf8_) return "";
  return in_words(*not_utf8_, has_path) + " is not UTF-8, and kept as its bytes";
}

std::string CsvColumnGuess::reason(bool has_path) const {
  const auto words = [&](Form form) { return in_words(first_.at(form), has_path); };
  if (has(Form::bytes)) return words(Form::bytes);
  if (is_bytes()) {
    return words(Form::boolean) + " beside " +
           words(has(Form::int64) ? Form::int64 : Form::floating);
  }
  if (has(Form::floating)) return words(Form::floating);
  if (has(Form::boolean)) return "true is 1, and false is 0";
  if (has(Form::int64)) return "";
  return has(Form::empty_list) ? "all lists are empty" : "all cells are empty";
}

}  // namespace recordpipe
