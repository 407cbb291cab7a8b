#include "recordpipe/toolkit/csv_examples.h"

#include <algorithm>
#include <utility>

#include "recordpipe/error.h"
#include "recordpipe/internal/example/feature_writer.h"
#include "recordpipe/internal/example/wire_format.h"

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

// Values separated by something else come as one column, which nobody wants.
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

// A name that was mistyped would go unnoticed.
void CsvExamples::require_columns() const {
  for (const auto& [name, type] : types_.kinds) {
    if (columns_.empty() || columns_.contains(name)) continue;
    throw Error({.kind = ErrorKind::not_found,
                 .reason = types_.called + " names " + printable(name) + ", which is no column"});
  }
}

}  // namespace recordpipe
