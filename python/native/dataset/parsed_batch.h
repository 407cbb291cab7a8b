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

#include "python/native/values/python_object.h"
#include "recordpipe/base/parameter.h"
#include "recordpipe/example/parse_example.h"
#include "recordpipe/example/parse_sequence_example.h"
#include "recordpipe/image/batches/example_images.h"
#include "recordpipe/image/batches/image_column.h"
#include "recordpipe/record/record.h"
#include "recordpipe/rlds/step_batch.h"
#include "recordpipe/tfds/batch.h"

namespace recordpipe::python {

// Examples and their images, SequenceExamples, Examples of TFDS, or steps.
struct ParsedBatch : ExampleImagesBatch {
  SequenceExampleBatch sequence;
  tfds::ExamplesBatch tfds;
  rlds::StepBatch steps;
  bool is_single = false;  // has one row
  Origin origin;           // of the record of a batch of one row

  void exchange_scratch(ParsedBatch& other) noexcept {
    example.exchange_scratch(other.example);
    sequence.exchange_scratch(other.sequence);
    tfds.exchange_scratch(other.tfds);
    std::swap(steps.rows_of, other.steps.rows_of);
    std::swap(steps.ragged, other.steps.ragged);
  }

  friend uint64_t heap_bytes(const ParsedBatch& batch) {
    return heap_bytes(static_cast<const ExampleImagesBatch&>(batch)) + heap_bytes(batch.sequence) +
           heap_bytes(batch.tfds) + heap_bytes(batch.steps);
  }
};

// A collator of records or of steps; in the plan, it is the same as the C++ collator that it calls.
class ParseCollator {
 public:
  using Batch = ParsedBatch;

  explicit ParseCollator(ExampleImagesCollator collator) : collator_(std::move(collator)) {}
  explicit ParseCollator(SequenceExampleCollator collator) : collator_(std::move(collator)) {}
  explicit ParseCollator(tfds::ExamplesCollator collator) : collator_(std::move(collator)) {}
  explicit ParseCollator(rlds::StepCollator collator) : collator_(std::move(collator)) {}

  bool is_sequence() const { return collator_.index() == 1; }
  // Of Examples; null for others.
  const ExampleImagesCollator* examples() const {
    return std::get_if<ExampleImagesCollator>(&collator_);
  }
  // Of Examples of TFDS; null for others.
  const tfds::ExamplesCollator* tfds() const {
    return std::get_if<tfds::ExamplesCollator>(&collator_);
  }
  // Of steps; null for records.
  const rlds::StepCollator* steps() const { return std::get_if<rlds::StepCollator>(&collator_); }

  // Empty for SequenceExamples.
  std::span<const ImageColumnCollator> images() const {
    return std::visit(
        []<class Collator>(const Collator& collator) -> std::span<const ImageColumnCollator> {
          if constexpr (std::is_same_v<Collator, SequenceExampleCollator>)
            return {};
          else
            return collator.images();
        },
        collator_);
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
  // The same; may prefetch `next`, the record that is read next, into the CPU cache.
  void set(ParsedBatch& batch, size_t row, Record record, const Record& next) const {
    keep_origin(batch, record);
    visit_records(batch, [&](const auto& collator, auto& columns) {
      if constexpr (requires { collator.set(columns, row, std::move(record), next); }) {
        collator.set(columns, row, std::move(record), next);
      } else {
        collator.set(columns, row, std::move(record));
      }
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
  // DrawnRecords are not of SequenceExamples.
  void set(ParsedBatch& batch, size_t row, DrawnRecord drawn) const {
    set(batch, row, std::move(drawn), {});
  }
  void set(ParsedBatch& batch, size_t row, DrawnRecord drawn, const DrawnRecord& next) const {
    keep_origin(batch, drawn.record);
    if (const auto* of_tfds = tfds()) {
      of_tfds->set(batch.tfds, row, std::move(drawn));
    } else {
      examples()->set(batch, row, std::move(drawn), next);
    }
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
    if (const auto* example = examples()) {
      visit(*example, static_cast<ExampleImagesBatch&>(batch));
    } else if (const auto* of_tfds = tfds()) {
      visit(*of_tfds, batch.tfds);
    } else {
      visit(std::get<SequenceExampleCollator>(collator_), batch.sequence);
    }
  }

  std::variant<ExampleImagesCollator, SequenceExampleCollator, tfds::ExamplesCollator,
               rlds::StepCollator>
      collator_;
};

}  // namespace recordpipe::python
