// Exports records as JSON lines or as CSV.
#include <bitset>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "dataset/toolkit/names.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/toolkit/csv_examples.h"
#include "recordpipe/toolkit/json_text.h"
#include "recordpipe/toolkit/record_json.h"
#include "tools/tfrecord/formats/export_target.h"
#include "tools/tfrecord/io/output.h"

namespace recordpipe {
namespace {

class JsonTarget final : public ExportTarget {
 public:
  JsonTarget(const CommandContext& context, const TargetOptions& options)
      : output_(context, options.output),
        json_([this](std::string_view piece) { output_.write(piece); }) {}

  void write(const ExportedRecord& record) override {
    const MessageView& message = record.message;
    json_.raw("{\"record\": ");
    json_.number(record.number);
    // Other types, of which the line would not be read again, are kept as their bytes.
    const bool has_features =
        message.kind() == MessageKind::example || message.kind() == MessageKind::sequence_example;
    if (has_features) {
      json_.raw(", ");
      append_features_json(message, json_);
    } else {
      json_.raw(", \"payload\": ");
      json_.bytes(record.data);
    }
    json_.raw("}\n");
  }

  void close() override {
    output_.write(json_.text());
    output_.close();
  }

 private:
  Output output_;
  JsonText json_;
};

class CsvTarget final : public ExportTarget {
 public:
  CsvTarget(const CommandContext& context, const TargetOptions& options)
      : context_(context), delimiter_(options.delimiter), output_(context, options.output) {}

  bool looks_first() const override { return true; }

  void look(const ExportedRecord& record) override {
    require_example(record, kHint);
    for (const auto& [name, feature] : record.message.features()) {
      auto column = columns_.find(name);
      if (column == columns_.end()) column = columns_.emplace(name, Column()).first;
      Column::Kinds& kinds = feature.size() > 0 ? column->second.kinds : column->second.empty;
      if (feature.kind() == FeatureKind::none) {
        ++without_list_;
      } else {
        kinds |= Column::only(feature.kind());
      }
    }
  }

  void end_look(const FeatureNames& selected) override {
    if (columns_.empty()) {
      for (const std::string& name : selected) columns_.try_emplace(name);
      is_header_only_ = columns_.size() == 1;
    }
    if (without_list_ > 0) {
      context_.progress.warn(
          "tfrecord export: in the table, features without a list of values are "
          "missing: " +
          grouped(without_list_) + " (JSON lines keep them)");
    }
    for (auto& [name, column] : columns_) {
      const Column::Kinds all = column.kinds | column.empty;
      if (all.count() < 2) continue;
      std::string words;
      for (const FeatureKind kind :
           {FeatureKind::bytes, FeatureKind::floats, FeatureKind::int64s}) {
        if ((all & Column::only(kind)).none()) continue;
        words.append(words.empty() ? "" : " and ").append(json_kind(kind));
      }
      context_.progress.warn("tfrecord export: " + name_text(name) + " is " + words +
                             " in different records, and a column has one type: JSON lines keep "
                             "the types");
    }
  }

  void write(const ExportedRecord& record) override {
    if (!begun_) begin();
    require_example(record, kHint);
    if (is_header_only_) return;
    bool first = true;
    bool is_empty_row = true;
    // Both are sorted by name.
    auto feature = record.message.features().begin();
    const auto end = record.message.features().end();
    for (const auto& [name, column] : columns_) {
      if (!first) output_.write(std::string_view(&delimiter_, 1));
      first = false;
      while (feature != end && feature->name < name) ++feature;
      if (feature == end || feature->name != name) continue;
      const FeatureView& values = feature->feature;
      if (values.kind() == FeatureKind::none) continue;
      is_empty_row = false;
      write_csv_feature(values, output_, delimiter_, column.kinds == Column::only(values.kind()));
    }
    // A row with one empty cell, or none, would be an empty line, which doesn't count as a row.
    if (is_empty_row && columns_.size() < 2) {
      throw Error({.kind = ErrorKind::unsupported,
                   .reason = "record " + std::to_string(record.number) +
                             " has none of the features, which a table of " +
                             (columns_.empty() ? "no columns" : "one column") + " can't represent",
                   .hint = kHint});
    }
    output_.write("\n");
  }

  void close() override {
    if (!begun_) begin();
    output_.close();
  }

  std::optional<uint64_t> rows() const override {
    return is_header_only_ ? std::optional<uint64_t>(0) : std::nullopt;
  }

 private:
  static constexpr const char* kHint = "export to JSON lines";

  struct Column {
    using Kinds = std::bitset<4>;
    static Kinds only(FeatureKind kind) { return Kinds(1U << static_cast<unsigned>(kind)); }
    Kinds kinds = {};  // of the features with values
    Kinds empty = {};  // of the features without values
  };

  void begin() {
    begun_ = true;
    bool first = true;
    for (const auto& [name, column] : columns_) {
      if (!first) output_.write(std::string_view(&delimiter_, 1));
      first = false;
      // Without quotes, a single column named "a;b" would seem to have another delimiter.
      const bool seems_many = columns_.size() == 1 && name.find_first_of(",;\t|") != name.npos;
      write_csv_cell(name, output_, /*in_quotes=*/seems_many, delimiter_);
    }
    if (!columns_.empty()) output_.write("\n");
  }

  const CommandContext& context_;
  const char delimiter_;
  Output output_;
  std::map<std::string, Column, std::less<>> columns_;
  uint64_t without_list_ = 0;
  bool is_header_only_ = false;  // the only column has no value: its rows would be empty lines
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<ExportTarget> json_target(const CommandContext& context,
                                          const TargetOptions& options) {
  return std::make_unique<JsonTarget>(context, options);
}

std::unique_ptr<ExportTarget> csv_target(const CommandContext& context,
                                         const TargetOptions& options) {
  return std::make_unique<CsvTarget>(context, options);
}

}  // namespace recordpipe
