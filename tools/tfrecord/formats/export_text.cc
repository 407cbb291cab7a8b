// Exports records as JSON lines or as CSV.
#include <set>
#include <string_view>

#include "recordpipe/error.h"
#include "recordpipe/message_view.h"
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
      // A row with one empty cell would be an empty line, which doesn't count as a row.
      if (is_empty && columns_.size() == 1) {
        throw Error(
            {.kind = ErrorKind::unsupported,
             .reason = "record " + std::to_string(record.number) +
                       " has none of the features, which a table of one column can't represent",
             .hint = kHint});
      }
      if (!is_empty) write_csv_feature(*feature, output_);
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
