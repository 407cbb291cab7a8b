// The elements of a Dataset after parse(), image operators and batch(): columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "python/native/image_column.h"
#include "python/native/python_object.h"
#include "recordpipe/dict.h"
#include "recordpipe/dict_batch.h"
#include "recordpipe/parameter.h"
#include "recordpipe/parse_example.h"
#include "recordpipe/parse_sequence_example.h"
#include "recordpipe/record.h"

namespace recordpipe::python {

// Examples and their images, or SequenceExamples.
struct ParsedBatch {
  ExampleBatch example;
  std::vector<ImageColumn> images;  // in the order of ParseCollator::images()
  SequenceExampleBatch sequence;
  Dict dict;               // of an element, or of the columns of a batch, that is lent to Python
  bool is_single = false;  // has one row
  Origin origin;           // of the record of a batch of one row

  void exchange_scratch(ParsedBatch& other) noexcept {
    example.exchange_scratch(other.example);
    sequence.exchange_scratch(other.sequence);
  }

  friend uint64_t heap_bytes(const ParsedBatch& batch) {
    uint64_t bytes =
        heap_bytes(batch.example) + heap_bytes(batch.sequence) + heap_bytes(batch.dict);
    for (const ImageColumn& image : batch.images) bytes += heap_bytes(image);
    return bytes;
  }
};

// A collator of records; in the plan, it is the same as the C++ collator that it calls.
class ParseCollator {
 public:
  using Batch = ParsedBatch;

  // The features of `images` are views in the schema of `collator`.
  explicit ParseCollator(ExampleCollator collator, std::vector<ImageColumnCollator> images = {})
      : collator_(std::move(collator)), images_(std::move(images)) {}
  explicit ParseCollator(SequenceExampleCollator collator) : collator_(std::move(collator)) {}

  bool is_sequence() const { return collator_.index() == 1; }

  const std::vector<ImageColumnCollator>& images() const { return images_; }

  void reset(ParsedBatch& batch, size_t rows) const {
    batch.is_single = rows == 1;
    batch.origin = {};
    visit(batch, [&](const auto& collator, auto& columns) { collator.reset(columns, rows); });
    batch.images.resize(images_.size());
    for (size_t i = 0; i < images_.size(); ++i) images_[i].reset(batch.images[i], rows);
  }
  void set(ParsedBatch& batch, size_t row, Record record) const {
    if (images_.empty()) {
      keep_origin(batch, record);
      visit(batch, [&](const auto& collator, auto& columns) {
        collator.set(columns, row, std::move(record));
      });
    } else {
      set(batch, row, DrawnRecord{std::move(record)}, {});
    }
  }
  // The same; without images, prefetches `next`, the record that is read next, into the CPU cache.
  void set(ParsedBatch& batch, size_t row, Record record, const Record& next) const {
    if (!images_.empty()) return set(batch, row, std::move(record));
    keep_origin(batch, record);
    visit(batch, [&](const auto& collator, auto& columns) {
      collator.set(columns, row, std::move(record), next);
    });
  }
  void set(ParsedBatch& batch, size_t row, DrawnRecord drawn) const {
    set(batch, row, std::move(drawn), {});
  }
  // Needs images. `next` is the record that is read next: its images are prefetched into the CPU
  // cache.
  void set(ParsedBatch& batch, size_t row, DrawnRecord drawn, const DrawnRecord& next) const;
  void finish(ParsedBatch& batch) const {
    for (size_t i = 0; i < images_.size(); ++i) images_[i].finish(batch.images[i]);
    visit(batch, [](const auto& collator, auto& columns) { collator.finish(columns); });
  }
  std::vector<Parameter> parameters() const;

 private:
  static void keep_origin(ParsedBatch& batch, const Record& record) {
    thread_local std::shared_ptr<const std::string> path;
    if (batch.is_single) batch.origin = origin_of(record, path);
  }
  template <class Visit>
  void visit(ParsedBatch& batch, const Visit& visit) const {
    if (const auto* example = std::get_if<ExampleCollator>(&collator_)) {
      visit(*example, batch.example);
    } else {
      visit(std::get<SequenceExampleCollator>(collator_), batch.sequence);
    }
  }

  std::variant<ExampleCollator, SequenceExampleCollator> collator_;
  std::vector<ImageColumnCollator> images_;
};

}  // namespace recordpipe::python
