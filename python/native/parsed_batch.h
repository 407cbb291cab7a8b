// The elements of a Dataset after parse(), image operators and batch(): columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "python/native/python_object.h"
#include "recordpipe/dict.h"
#include "recordpipe/dict_batch.h"
#include "recordpipe/image/example_images.h"
#include "recordpipe/image/image_column.h"
#include "recordpipe/parameter.h"
#include "recordpipe/parse_example.h"
#include "recordpipe/parse_sequence_example.h"
#include "recordpipe/record.h"
#include "recordpipe/rlds/step_batch.h"

namespace recordpipe::python {

// Examples and their images, SequenceExamples, or steps.
struct ParsedBatch : ExampleImagesBatch {
  SequenceExampleBatch sequence;
  rlds::StepBatch steps;
  Dict dict;               // of an element, or of the columns of a batch, that is lent to Python
  bool is_single = false;  // has one row
  Origin origin;           // of the record of a batch of one row

  void exchange_scratch(ParsedBatch& other) noexcept {
    example.exchange_scratch(other.example);
    sequence.exchange_scratch(other.sequence);
    std::swap(steps.rows_of, other.steps.rows_of);
  }

  friend uint64_t heap_bytes(const ParsedBatch& batch) {
    return heap_bytes(static_cast<const ExampleImagesBatch&>(batch)) + heap_bytes(batch.sequence) +
           heap_bytes(batch.steps) + heap_bytes(batch.dict);
  }
};

// A collator of records or of steps; in the plan, it is the same as the C++ collator that it calls.
class ParseCollator {
 public:
  using Batch = ParsedBatch;

  explicit ParseCollator(ExampleImagesCollator collator) : collator_(std::move(collator)) {}
  explicit ParseCollator(SequenceExampleCollator collator) : collator_(std::move(collator)) {}
  explicit ParseCollator(rlds::StepCollator collator) : collator_(std::move(collator)) {}

  bool is_sequence() const { return collator_.index() == 1; }

  // Of records that are Examples.
  const ExampleImagesCollator& examples() const {
    return std::get<ExampleImagesCollator>(collator_);
  }
  // Null for records.
  const rlds::StepCollator* steps() const { return std::get_if<rlds::StepCollator>(&collator_); }
  // Empty for SequenceExamples.
  std::span<const ImageColumnCollator> images() const {
    if (is_sequence()) return {};
    if (steps()) return steps()->images();
    return examples().images();
  }

  void reset(ParsedBatch& batch, size_t rows) const {
    batch.is_single = rows == 1;
    batch.origin = {};
    visit(batch, [&](const auto& collator, auto& columns) { collator.reset(columns, rows); });
  }
  void set(ParsedBatch& batch, size_t row, Record record) const {
    keep_origin(batch, record);
    visit_records(batch, [&](const auto& collator, auto& columns) {
      collator.set(columns, row, std::move(record));
    });
  }
  // The same; prefetches `next`, the record that is read next, into the CPU cache.
  void set(ParsedBatch& batch, size_t row, Record record, const Record& next) const {
    keep_origin(batch, record);
    visit_records(batch, [&](const auto& collator, auto& columns) {
      collator.set(columns, row, std::move(record), next);
    });
  }
  void set(ParsedBatch& batch, size_t row, rlds::Step step) const {
    keep_origin(batch, step);
    steps()->set(batch.steps, row, std::move(step));
  }
  void set(ParsedBatch& batch, size_t row, rlds::Step step, const rlds::Step& next) const {
    keep_origin(batch, step);
    steps()->set(batch.steps, row, std::move(step), next);
  }
  // DrawnRecords are of Examples.
  void set(ParsedBatch& batch, size_t row, DrawnRecord drawn) const {
    keep_origin(batch, drawn.record);
    examples().set(batch, row, std::move(drawn));
  }
  void set(ParsedBatch& batch, size_t row, DrawnRecord drawn, const DrawnRecord& next) const {
    keep_origin(batch, drawn.record);
    examples().set(batch, row, std::move(drawn), next);
  }
  void finish(ParsedBatch& batch) const {
    visit(batch, [](const auto& collator, auto& columns) { collator.finish(columns); });
  }
  std::vector<Parameter> parameters() const {
    return std::visit([](const auto& collator) { return collator.parameters(); }, collator_);
  }

 private:
  static void keep_origin(ParsedBatch& batch, const Record& record) {
    thread_local std::shared_ptr<const std::string> path;
    if (batch.is_single) batch.origin = origin_of(record, path);
  }
  static void keep_origin(ParsedBatch& batch, const rlds::Step& step) {
    if (batch.is_single) keep_origin(batch, step.reader->row(step.number).record);
  }
  template <class Visit>
  void visit(ParsedBatch& batch, const Visit& visit) const {
    if (steps()) {
      visit(*steps(), batch.steps);
    } else {
      visit_records(batch, visit);
    }
  }
  template <class Visit>
  void visit_records(ParsedBatch& batch, const Visit& visit) const {
    if (const auto* example = std::get_if<ExampleImagesCollator>(&collator_)) {
      visit(*example, static_cast<ExampleImagesBatch&>(batch));
    } else {
      visit(std::get<SequenceExampleCollator>(collator_), batch.sequence);
    }
  }

  std::variant<ExampleImagesCollator, SequenceExampleCollator, rlds::StepCollator> collator_;
};

}  // namespace recordpipe::python
