// What must be said about a where expression after the last record: features that no record has,
// values that can't be compared, and records of no known kind.
#pragma once

#include <mutex>
#include <string>

#include "dataset/toolkit/where/where_parser.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/toolkit/where.h"

namespace recordpipe {

// Calls visit() with `condition` and all parts of it, in the order of the expression.
template <typename Visit>
void visit_conditions(const Where::Condition& condition, const Visit& visit) {
  visit(condition);
  for (const Where::Condition& part : condition.parts) visit_conditions(part, visit);
}

// Notes which features the record has whose conditions were not evaluated.
void note_present(const MessageView& message, const Where::Condition& whole);

// Returns the first name, in sorted order, that no record has and for which there is no has(), and
// that isn't known (if given); null if there is none.
const std::string* first_missing(const Where::Condition& whole, const Where::IsKnown& is_known);

// Throws if the values of existing features can't be compared with the literals. Checks only
// conditions that must hold: a comparison that fails under `not` selects the record.
void require_all_comparable(const Where::Condition& condition, const std::string& called);

bool does_use_features(const Where::Condition& whole);

// Collects Where::Unknown, the same whatever the order of the records.
class UnknownRecords {
 public:
  // Thread-safe. `record` may be null.
  void add(const MessageView& message, const NumberedRecord* record);
  void add(const Where::Unknown& other);

  const Where::Unknown& all() const { return all_; }

  // A note; empty if there are none. `called`: the expression. If not all records were looked at,
  // the number depends on the threads.
  std::string note(const std::string& called, bool looked_at_all) const;

 private:
  std::mutex mutex_;
  Where::Unknown all_;
};

}  // namespace recordpipe
