// The elements of a Dataset after parse() and batch(): columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "recordpipe/parameter.h"
#include "recordpipe/parse_example.h"
#include "recordpipe/parse_sequence_example.h"
#include "recordpipe/record.h"

namespace recordpipe::python {

// One of the members is used.
struct ParsedBatch {
  ExampleBatch example;
  SequenceExampleBatch sequence;

  void exchange_scratch(ParsedBatch& other) noexcept {
    example.exchange_scratch(other.example);
    sequence.exchange_scratch(other.sequence);
  }

  friend uint64_t heap_bytes(const ParsedBatch& batch) {
    return heap_bytes(batch.example) + heap_bytes(batch.sequence);
  }
};

// A collator of records; in the plan, it is the same as the C++ collator that it calls.
class ParseCollator {
 public:
  using Batch = ParsedBatch;

  explicit ParseCollator(ExampleCollator collator) : collator_(std::move(collator)) {}
  explicit ParseCollator(SequenceExampleCollator collator) : collator_(std::move(collator)) {}

  bool is_sequence() const { return collator_.index() == 1; }

  void reset(ParsedBatch& batch, size_t rows) const {
    visit(batch, [&](const auto& collator, auto& columns) { collator.reset(columns, rows); });
  }
  void set(ParsedBatch& batch, size_t row, Record record) const {
    visit(batch, [&](const auto& collator, auto& columns) {
      collator.set(columns, row, std::move(record));
    });
  }
  void finish(ParsedBatch& batch) const {
    visit(batch, [](const auto& collator, auto& columns) { collator.finish(columns); });
  }
  std::vector<Parameter> parameters() const {
    return std::visit([](const auto& collator) { return collator.parameters(); }, collator_);
  }

 private:
  template <class Visit>
  void visit(ParsedBatch& batch, const Visit& visit) const {
    if (const auto* example = std::get_if<ExampleCollator>(&collator_)) {
      visit(*example, batch.example);
    } else {
      visit(std::get<SequenceExampleCollator>(collator_), batch.sequence);
    }
  }

  std::variant<ExampleCollator, SequenceExampleCollator> collator_;
};

}  // namespace recordpipe::python
