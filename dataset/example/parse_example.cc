#include "recordpipe/parse_example.h"

#include <utility>

#include "dataset/example/record_context.h"
#include "recordpipe/internal/example/feature_reader.h"

namespace recordpipe {

ExampleCollator::ExampleCollator(const ExampleSchema& schema)
    : wanted_(std::make_shared<WantedFeatures>(schema)) {}

void ExampleCollator::reset(ExampleBatch& batch, size_t rows) const {
  batch.features_.reset(wanted_, rows);
  batch.records_.clear();
  batch.records_.resize(rows);
}

void ExampleCollator::set(ExampleBatch& batch, size_t row, Record record) const {
  try {
    read_messages(read_example(record.data), kExampleFeatures,
                  [&](WireReader features) { batch.features_.read(row, features); });
    batch.features_.end_row(row);
  } catch (const Error& error) {
    throw in_record(error, record);
  }
  batch.records_[row] = std::move(record);
}

void ExampleCollator::finish(ExampleBatch& batch) const {
  batch.features_.finish();
  batch.records_.clear();
}

std::vector<Parameter> ExampleCollator::parameters() const {
  return {{"features", wanted_->text()}};
}

ExampleBatch parse_example(std::span<const Record> records, const ExampleCollator& features,
                           ExampleBatch reuse) {
  features.reset(reuse, records.size());
  for (size_t row = 0; row < records.size(); ++row) features.set(reuse, row, records[row]);
  features.finish(reuse);
  return reuse;
}

ExampleBatch parse_single_example(const Record& record, const ExampleCollator& features,
                                  ExampleBatch reuse) {
  return parse_example(std::span(&record, 1), features, std::move(reuse));
}

}  // namespace recordpipe
