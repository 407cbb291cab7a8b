#include "recordpipe/toolkit/csv_examples.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "dataset/toolkit/formats/json_value.h"
#include "dataset/toolkit/number_text.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/example/feature_writer.h"
#include "recordpipe/internal/example/wire_reader.h"
#include "recordpipe/toolkit/json_examples.h"
#include "recordpipe/toolkit/json_text.h"

namespace recordpipe {
namespace {

std::vector<std::string> columns_of(CsvReader& reader) {
  std::vector<std::string> columns;
  const auto header = reader.next();
  if (!header) return columns;
  std::set<std::string_view> names;
  for (const CsvCell& cell : *header) {
    if (!names.insert(cell.text).second) {
      throw Error({.kind = ErrorKind::corrupted,
                   .path = reader.path(),
                   .reason = "line 1: two columns named \"" + printable(cell.text) + "\""});
    }
    columns.push_back(cell.text);
  }
  return columns;
}

}  // namespace

std::optional<std::vector<CsvCell>> CsvTable::next() {
  auto row = reader_->next();
  if (!row || row->size() == columns_.size()) return row;
  throw Error({.kind = ErrorKind::corrupted,
               .path = path(),
               .reason = "line " + std::to_string(line()) + ": " + std::to_string(row->size()) +
                         " cells, where the header has " + std::to_string(columns_.size())});
}

CsvExamples::CsvExamples(FeatureTypes types) : types_(std::move(types)) {}

CsvTable CsvExamples::open(std::unique_ptr<ByteSource> source) {
  CsvTable table;
  table.reader_ = std::make_unique<CsvReader>(std::move(source));
  table.columns_ = columns_of(*table.reader_);
  require_commas(table);
  columns_.insert(table.columns_.begin(), table.columns_.end());
  for (const std::string& name : table.columns_) {
    table.guesses_.push_back(types_.kinds.contains(name) ? nullptr : &guesses_[name]);
  }
  return table;
}

// Throws an Error if the file seems to use another separator: all values of a row would become a
// single column, which is never intended.
void CsvExamples::require_commas(const CsvTable& table) const {
  const auto& columns = table.columns();
  if (columns.size() != 1 || types_.kinds.contains(columns.front())) return;
  const size_t at = columns.front().find_first_of(";\t|");
  if (at == std::string::npos) return;
  const std::string name = printable(columns.front());
  throw Error({.kind = ErrorKind::unsupported,
               .path = table.path(),
               .reason = "one column, named \"" + name + "\": values should be separated by commas",
               .hint = "write it with commas, or give " + types_.called + " '" + name +
                       "=bytes' if it is one"});
}

bool CsvExamples::has_types(const CsvTable& table) const {
  return std::ranges::all_of(table.columns(),
                             [&](const auto& name) { return types_.kinds.contains(name); });
}

void CsvExamples::look_at(const CsvTable& table, const std::vector<CsvCell>& row) {
  for (size_t i = 0; i < row.size(); ++i) {
    if (table.guesses_[i]) table.guesses_[i]->look_at(row[i], table.path(), table.line());
  }
}

void CsvExamples::end_look() {
  for (const auto& [name, guess] : guesses_) {
    types_.kinds.emplace(name, guess.type(name, types_.called));
  }
}

std::string CsvExamples::record(const CsvTable& table, const std::vector<CsvCell>& row) const {
  SerializedFeatures features;
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i].missing()) continue;
    const std::string& name = table.columns()[i];
    const std::string& type = types_.kinds.at(name);
    auto feature = feature_of_cell(row[i], type);
    if (!feature) {
      throw Error({.kind = ErrorKind::corrupted,
                   .path = table.path(),
                   .reason = "line " + std::to_string(table.line()) + ": column " +
                             printable(name) + ": \"" + printable(row[i].text) + "\" is no " +
                             type});
    }
    features.emplace(name, *std::move(feature));
  }
  std::string record;
  append_feature_map(kExampleFeatures, features, record);
  return record;
}

// Throws an Error if a type names a missing column; otherwise a mistyped name would go unnoticed.
void CsvExamples::require_columns() const {
  for (const auto& [name, type] : types_.kinds) {
    if (columns_.empty() || columns_.contains(name)) continue;
    throw Error({.kind = ErrorKind::not_found,
                 .reason = types_.called + " names " + printable(name) + ", which is no column"});
  }
}

namespace {

// From the narrowest type to the widest.
constexpr std::array<std::string_view, 3> kTypes = {"int64", "float", "bytes"};
constexpr size_t kBytes = kTypes.size() - 1;
constexpr size_t kLongestShownCell = 40;

// Returns whether `text` is a code such as 007, which would lose its zeros as a number.
bool is_code(std::string_view text) {
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

// Returns whether the cell is an integer that float32 can't represent exactly, or a list with such
// an integer.
bool has_rounded_whole(std::string_view text) {
  if (is_json_cell(text)) {
    try {
      return std::ranges::any_of(parse_json(text).items, [](const JsonValue& value) {
        return value.kind == JsonValue::Kind::integer && is_rounded_by_float(value.integer);
      });
    } catch (const Error&) {
      return false;  // text that only begins like JSON
    }
  }
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) return false;
  if (digits == "0") return false;
  const auto value = parse_int64(text);
  return !value || is_rounded_by_float(*value);  // no value: beyond int64, or -007
}

// Writes JSON in quotes, piece by piece, because the JSON may be longer than the record.
template <typename Append>
void write_json_cell(ByteSink& out, Append append) {
  const auto quote = [&] { out.write(std::as_bytes(std::span("\"", 1))); };
  quote();
  JsonText json([&](std::string_view piece) { write_quoted_csv(piece, out); });
  append(json);
  write_quoted_csv(json.text(), out);
  quote();
}

void write_bytes_cell(std::span<const std::byte> bytes, const FeatureView& feature, ByteSink& out) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!is_text(bytes)) {
    write_json_cell(out, [&](JsonText& json) { json.base64(bytes); });
  } else if (is_json_cell(text)) {
    write_json_cell(out, [&](JsonText& json) { json.values(feature); });
  } else {
    // Without quotes, text such as 12 would be parsed as a number.
    write_csv_cell(text, out, /*in_quotes=*/parse_float(text).has_value());
  }
}

}  // namespace

void write_csv_feature(const FeatureView& feature, ByteSink& out) {
  if (const auto bytes = feature.single_bytes()) return write_bytes_cell(*bytes, feature, out);
  if (feature.size() > 1) {
    return write_json_cell(out, [&](JsonText& json) { json.values(feature); });
  }
  JsonText json;
  json.values(feature);
  std::string_view text = json.text();
  if (feature.size() == 1) text = text.substr(1, text.size() - 2);  // without the brackets
  out.write(std::as_bytes(std::span(text)));
}

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
  // A quoted cell is text, unless it is a list, which needs quotes because of its commas.
  if (is_code(cell.text) || (cell.quoted && !is_json_cell(cell.text))) type_ = kBytes;
  while (type_ < kBytes && !feature_of_cell(cell, kTypes[type_])) ++type_;
  if (type_ == kBytes || rounded_ || !has_rounded_whole(cell.text)) return;
  const bool is_long = cell.text.size() > kLongestShownCell;
  rounded_ = {path, line, cell.text.substr(0, kLongestShownCell) + (is_long ? "..." : "")};
}

std::string_view CsvColumnGuess::type(const std::string& name,
                                      const std::string& types_called) const {
  const std::string_view type = kTypes[type_];
  if (type != "float" || !rounded_) return type;
  throw Error({.kind = ErrorKind::corrupted,
               .path = rounded_->path,
               .reason = "line " + std::to_string(rounded_->line) + ": column " + printable(name) +
                         ": " + rounded_->text +
                         " is a whole number that a float, which all cells of the column fit, "
                         "can't represent exactly",
               .hint = types_called + " " + printable(name) + "=float rounds it, " + types_called +
                       " " + printable(name) + "=bytes keeps its digits"});
}

}  // namespace recordpipe
