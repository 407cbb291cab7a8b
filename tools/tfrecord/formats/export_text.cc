// Records as JSON lines and as CSV.
#include <set>
#include <string_view>

#include "dataset/toolkit/formats/number_text.h"
#include "recordpipe/error.h"
#include "recordpipe/message_view.h"
#include "recordpipe/toolkit/json_text.h"
#include "recordpipe/toolkit/record_json.h"
#include "tools/tfrecord/formats/csv.h"
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
      : output_(context, options.output) {}

  bool looks_first() const override { return true; }

  void look(const ExportedRecord& record) override {
    require_example(record, kHint);
    for (const NamedFeature& feature : record.message.features()) {
      if (!columns_.contains(feature.name)) columns_.emplace(feature.name);
    }
  }

  void write(const ExportedRecord& record) override {
    if (!begun_) begin();
    require_example(record, kHint);
    bool first = true;
    for (const std::string& column : columns_) {
      if (!first) output_.write(",");
      first = false;
      const FeatureView* const feature = record.message.find_feature(column);
      const bool is_empty = !feature || feature->kind() == FeatureKind::none;
      // A row that is all empty would be an empty line, which is no row.
      if (is_empty && columns_.size() == 1) {
        throw Error({.kind = ErrorKind::unsupported,
                     .reason = "record " + std::to_string(record.number) +
                               " has none of the features, which a table of one column can't say",
                     .hint = kHint});
      }
      if (!is_empty) write_cell(*feature);
    }
    output_.write("\n");
  }

  void close() override {
    if (!begun_) begin();
    output_.close();
  }

 private:
  static constexpr const char* kHint = "export to JSON lines";

  void begin() {
    begun_ = true;
    bool first = true;
    for (const std::string& column : columns_) {
      if (!first) output_.write(",");
      first = false;
      write_csv_cell(column, output_);
    }
    if (!columns_.empty()) output_.write("\n");
  }

  void write_cell(const FeatureView& feature) {
    if (feature.size() == 0) {
      output_.write("[]");
    } else if (const auto bytes = feature.single_bytes()) {
      write_bytes(*bytes, feature);
    } else if (feature.size() == 1) {
      JsonText json;
      json.values(feature);
      output_.write(std::string_view(json.text()).substr(1, json.text().size() - 2));
    } else {
      write_json([&](JsonText& json) { json.values(feature); });
    }
  }

  void write_bytes(std::span<const std::byte> bytes, const FeatureView& feature) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!is_text(bytes)) {
      write_json([&](JsonText& json) { json.base64(bytes); });
    } else if (is_json_cell(text)) {
      write_json([&](JsonText& json) { json.values(feature); });
    } else {
      // Without quotes it would be read as a number.
      write_csv_cell(text, output_, /*in_quotes=*/parse_float(text).has_value());
    }
  }

  // JSON in quotes, piece by piece: it may be longer than the record.
  template <typename Append>
  void write_json(Append append) {
    output_.write("\"");
    JsonText json([this](std::string_view piece) { write_quoted_csv(piece, output_); });
    append(json);
    write_quoted_csv(json.text(), output_);
    output_.write("\"");
  }

  Output output_;
  std::set<std::string, std::less<>> columns_;
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
