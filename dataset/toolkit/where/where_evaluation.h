// Evaluates a where expression on a record.
#pragma once

#include <atomic>
#include <cstdint>

#include "dataset/toolkit/where/where_parser.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/toolkit/where.h"

namespace recordpipe {

// What a condition is evaluated on; `record` and `exact` may be null.
struct WhereRecord {
  const MessageView& message;
  const NumberedRecord* record;
  const Where::ExactNumbers* exact;
};

// Whether the condition holds. Notes in the parts that are evaluated which kinds of values there
// are.
bool holds(const WhereRecord& of, const Where::Condition& condition);

constexpr uint8_t kind_bit(FeatureKind kind) { return uint8_t(1U << static_cast<unsigned>(kind)); }

inline void note_kind(const Where::Condition& condition, FeatureKind kind) {
  const std::atomic_ref kinds(condition.kinds);
  if ((kinds.load(std::memory_order_relaxed) & kind_bit(kind)) == 0) {
    kinds.fetch_or(kind_bit(kind), std::memory_order_relaxed);
  }
}

}  // namespace recordpipe
