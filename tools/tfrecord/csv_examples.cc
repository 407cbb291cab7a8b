// Examples made of CSV files: one a row, features named by the header line.
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/error.h"
#include "dataset/base/stop.h"
#include "dataset/example/feature_writer.h"
#include "dataset/example/wire_format.h"
#include "tools/tfrecord/csv.h"
#include "tools/tfrecord/example_source.h"
#include "tools/tfrecord/inputs.h"
#include "tools/tfrecord/json_examples.h"
#include "tools/tfrecord/number_text.h"
#include "tools/tfrecord/text_lines.h"

namespace recordpipe {
namespace {

constexpr uint64_t kRowsBetweenSigns = 1024;
// From the narrowest to the widest.
constexpr std::array<std::string_view, 3> kTypes = {"int64", "float", "bytes"};

size_t type_number(std::string_view type) {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] == type) return i;
  }
  return kTypes.size() - 1;
}

// 007 and the like: as a number it would lose its zeros.
bool is_code(std::string_view text) {
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

// The feature, or nothing where the cell is not of the type.
std::optional<std::string> feature_of(const CsvCell& cell, std::string_view type) {
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

class CsvSource final : public ExampleSource {
 public:
  CsvSource(const CommandContext& context, std::vector<std::string> paths,
            const FeatureTypes& types)
      : context_(context), paths_(std::move(paths)) {
    for (const auto& [name, type] : types) types_[name] = type_number(type);
  }

  std::optional<uint64_t> count() override {
    infer_types();
    return inferred_ ? std::optional(rows_) : std::nullopt;
  }

  void run(const Consume& consume) override {
    infer_types();
    uint64_t made = 0;
    for (const std::string& path : paths_) {
      for_each_row(
          path, "create",
          [&](const CsvReader& reader, const Columns& columns, const std::vector<CsvCell>& row) {
            const std::string record = record_of(reader, columns, row);
            consume(std::as_bytes(std::span(record)));
            ++made;
          });
    }
    require_known();
    if (inferred_ && made != rows_) {
      throw Error({.kind = ErrorKind::corrupted,
                   .path = paths_.front(),
                   .reason = "was changed while it was read"});
    }
  }

 private:
  using Columns = std::vector<std::string>;

  template <typename Visit>
  void for_each_row(const std::string& path, const char* activity, Visit visit) {
    CsvReader reader(open_text(context_, path));
    const auto header = reader.next();
    if (!header) return;
    const Columns columns = columns_of(reader, *header);
    known_.insert(columns.begin(), columns.end());
    uint64_t rows = 0;
    while (const auto row = reader.next()) {
      if (row->size() != columns.size()) {
        throw Error({.kind = ErrorKind::corrupted,
                     .path = path,
                     .reason = "line " + std::to_string(reader.line()) + ": " +
                               std::to_string(row->size()) + " cells, where the header has " +
                               std::to_string(columns.size())});
      }
      throw_if_stopped(context_.stop, path);
      if (++rows % kRowsBetweenSigns == 0) {
        context_.progress.update({.activity = activity, .done = rows});
      }
      visit(reader, columns, *row);
    }
  }

  // A name in --types that was mistyped would go unnoticed.
  void require_known() const {
    for (const auto& [name, type] : types_) {
      if (known_.empty() || known_.contains(name)) continue;
      throw Error({.kind = ErrorKind::not_found,
                   .reason = "--types names " + printable(name) + ", which is no column"});
    }
  }

  static Columns columns_of(const CsvReader& reader, const std::vector<CsvCell>& header) {
    Columns columns;
    std::map<std::string, int> times;
    for (const CsvCell& cell : header) {
      std::string name = cell.text;
      // What spreadsheets put in front of a file.
      if (columns.empty() && name.starts_with("\xef\xbb\xbf")) name.erase(0, 3);
      if (++times[name] > 1) {
        throw Error({.kind = ErrorKind::corrupted,
                     .path = reader.path(),
                     .reason = "line 1: two columns named \"" + printable(name) + "\""});
      }
      columns.push_back(std::move(name));
    }
    return columns;
  }

  // Each column's narrowest type that all its cells fit; those given stay.
  void infer_types() {
    if (std::exchange(inferred_, true)) return;
    const auto given = types_;
    std::map<std::string, size_t> found;
    for (const std::string& path : paths_) {
      if (is_standard_input(path)) {
        inferred_ = false;
        if (given.empty()) {
          throw UsageError(
              "the types of standard input's columns can't be told before they are "
              "read: give --types, or a file");
        }
        return;
      }
      for_each_row(path, "look",
                   [&](const CsvReader&, const Columns& columns, const std::vector<CsvCell>& row) {
                     for (size_t i = 0; i < row.size(); ++i) {
                       size_t& type = found[columns[i]];
                       if (row[i].missing()) continue;
                       if (is_code(row[i].text)) type = kTypes.size() - 1;
                       while (type + 1 < kTypes.size() && !feature_of(row[i], kTypes[type])) ++type;
                     }
                     ++rows_;
                   });
    }
    types_.insert(found.begin(), found.end());
  }

  std::string record_of(const CsvReader& reader, const Columns& columns,
                        const std::vector<CsvCell>& row) const {
    SerializedFeatures features;
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i].missing()) continue;
      const auto type = types_.find(columns[i]);
      if (type == types_.end()) {
        throw UsageError("--types doesn't say what column " + printable(columns[i]) + " is");
      }
      auto feature = feature_of(row[i], kTypes[type->second]);
      if (!feature) {
        throw Error({.kind = ErrorKind::corrupted,
                     .path = reader.path(),
                     .reason = "line " + std::to_string(reader.line()) + ": column " +
                               printable(columns[i]) + ": \"" + printable(row[i].text) +
                               "\" is no " + std::string(kTypes[type->second])});
      }
      features.emplace(columns[i], *std::move(feature));
    }
    std::string record;
    append_feature_map(kExampleFeatures, features, record);
    return record;
  }

  const CommandContext& context_;
  const std::vector<std::string> paths_;
  std::map<std::string, size_t> types_;  // places in kTypes
  std::set<std::string> known_;          // columns
  bool inferred_ = false;
  uint64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<ExampleSource> csv_source(const CommandContext& context,
                                          std::vector<std::string> paths,
                                          const SourceOptions& options) {
  return std::make_unique<CsvSource>(context, std::move(paths), options.types);
}

}  // namespace recordpipe
