#include "recordpipe/toolkit/csv_examples.h"

#include <algorithm>
#include <span>
#include <utility>

#include "dataset/base/names_in_words.h"
#include "dataset/example/feature_name.h"
#include "dataset/example/nearest_float.h"
#include "dataset/toolkit/number_text.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/internal/feature_writer.h"
#include "recordpipe/example/internal/wire_reader.h"
#include "recordpipe/toolkit/json_text.h"

namespace recordpipe {
namespace {

std::string name_of(char delimiter) {
  switch (delimiter) {
    case ',':
      return "commas";
    case '\t':
      return "tabs";
    case ';':
      return "semicolons";
    default:
      return std::string("\"") + delimiter + '"';
  }
}

std::string reason_of_misfit(const CsvCell& cell, const std::string& type) {
  const std::string text = "\"" + printable(cell.text) + '"';
  const bool is_range = type == "float" && is_number(cell.text);
  return is_range ? out_of_float_range(text) : text + " is no " + type;
}

// Throws an Error if the name is not UTF-8: no protobuf would parse the records. `begin`: the
// offset of the cell in the file.
void require_utf8(const CsvCell& cell, const CsvReader& reader, uint64_t begin,
                  const std::string& hint) {
  const size_t size = utf8_size(cell.text);
  if (size == cell.text.size()) return;
  const std::string_view good = std::string_view(cell.text).substr(0, size);
  const auto quotes = std::ranges::count(good, '"');
  const uint64_t byte = begin + good.size() + static_cast<uint64_t>(cell.quoted ? 1 + quotes : 0);
  throw Error({.kind = ErrorKind::corrupted,
               .path = reader.path(),
               .reason = "line " + std::to_string(reader.line()) + ", byte " +
                         std::to_string(byte + 1) + ": the column name \"" + printable(cell.text) +
                         "\" is not UTF-8, as the names of features must be",
               .hint = hint});
}

// The number of bytes of a cell in the file, with the delimiter that follows.
uint64_t size_in_file(const CsvCell& cell) {
  const auto quotes = static_cast<uint64_t>(std::ranges::count(cell.text, '"'));
  return cell.text.size() + (cell.quoted ? 2 + quotes : 0) + 1;
}

std::vector<std::string> columns_of(const std::vector<CsvCell>& header, const CsvReader& reader,
                                    const std::string& encoding_hint) {
  std::vector<std::string> columns;
  std::set<std::string_view> names;
  uint64_t begin = reader.row_begin();
  for (const CsvCell& cell : header) {
    require_utf8(cell, reader, begin, encoding_hint);
    begin += size_in_file(cell);
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
               .reason = "line " + std::to_string(line()) + ": " + counted(row->size(), "cell") +
                         ", where the header has " + grouped(columns_.size())});
}

CsvExamples::CsvExamples(FeatureTypes types, CsvFormat format)
    : format_(std::move(format)), types_(std::move(types)) {}

CsvTable CsvExamples::open(std::unique_ptr<ByteSource> source) {
  CsvTable table;
  table.reader_ = std::make_unique<CsvReader>(std::move(source), format_.delimiter);
  ++tables_;
  if (const auto header = table.reader_->next()) {
    table.columns_ = columns_of(*header, *table.reader_, format_.encoding_hint);
    if (!header->front().quoted) require_delimiter(table);
  }
  columns_.insert(table.columns_.begin(), table.columns_.end());
  for (const std::string& name : table.columns_) {
    table.guesses_.push_back(types_.kinds.contains(name) ? nullptr : &guesses_[name]);
  }
  return table;
}

// Throws an Error if the file seems to use another delimiter: all values of a row would become a
// single column, which is never intended.
void CsvExamples::require_delimiter(const CsvTable& table) const {
  const auto& columns = table.columns();
  if (columns.size() != 1 || types_.kinds.contains(columns.front())) return;
  if (columns.front().find_first_of(",;\t|") == std::string::npos) return;
  const std::string name = printable(columns.front());
  throw Error({.kind = ErrorKind::unsupported,
               .path = table.path(),
               .reason = "one column, named \"" + name + "\": values should be separated by " +
                         name_of(format_.delimiter),
               .hint = format_.delimiter_hint + ", or give " + types_.called + " '" + name +
                       "=bytes' if it is one column"});
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
  inferred_.clear();
  for (const auto& [name, guess] : guesses_) {
    const std::string type(guess.type(name, types_.called));
    types_.kinds.emplace(name, type);
    const bool has_path = tables_ > 1;
    std::string reason = guess.reason(has_path);
    if (const std::string note = guess.not_utf8(has_path); !note.empty()) {
      reason += "; " + note + ": " + format_.encoding_hint;
    }
    inferred_.push_back({name, type, std::move(reason)});
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
                             printable(name) + ": " + reason_of_misfit(row[i], type)});
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

void write_bytes_cell(std::span<const std::byte> bytes, const FeatureView& feature, ByteSink& out,
                      char delimiter) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!is_text(bytes)) {
    write_json_cell(out, [&](JsonText& json) { json.base64(bytes); });
  } else if (is_json_cell(text)) {
    write_json_cell(out, [&](JsonText& json) { json.values(feature); });
  } else {
    // Without quotes, text such as 12 or true would be parsed as a number.
    write_csv_cell(text, out, /*in_quotes=*/is_number(text) || parse_boolean(text), delimiter);
  }
}

}  // namespace

void write_csv_feature(const FeatureView& feature, ByteSink& out, char delimiter,
                       bool is_kind_known) {
  if (const auto bytes = feature.single_bytes()) {
    return write_bytes_cell(*bytes, feature, out, delimiter);
  }
  const bool is_float = feature.kind() == FeatureKind::floats;
  const bool is_bytes = feature.kind() == FeatureKind::bytes;
  if (feature.size() == 0 && !is_kind_known && (is_float || is_bytes)) {
    return write_csv_cell(is_float ? kCsvNoFloats : kCsvNoBytes, out, /*in_quotes=*/true);
  }
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
  if (cell.text == kCsvNoFloats || cell.text == kCsvNoBytes) {
    if (type != (cell.text == kCsvNoFloats ? "float" : "bytes")) return std::nullopt;
    return type == "float" ? floats_feature({}) : bytes_feature({});
  }
  if (is_json_cell(cell.text)) {
    try {
      if (auto feature = feature_of_json(cell.text, type)) return feature;
    } catch (const Error&) {
      if (type != "bytes") return std::nullopt;  // a list of another type
    }
  }
  if (type == "int64") {
    auto value = parse_int64(cell.text);
    if (!value) value = parse_boolean(cell.text);
    if (!value) return std::nullopt;
    return int64s_feature(std::span(&*value, 1));
  }
  if (type == "uint64") {
    const auto bits = parse_uint64_bits(cell.text);
    if (!bits) return std::nullopt;
    return int64s_feature(std::span(&*bits, 1));
  }
  if (type == "float") {
    const auto value = parse_float(cell.text);
    if (!value) return std::nullopt;
    return floats_feature(std::span(&*value, 1));
  }
  const auto bytes = std::as_bytes(std::span(cell.text));
  return bytes_feature(std::span(&bytes, 1));
}

}  // namespace recordpipe
