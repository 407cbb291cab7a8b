#include "recordpipe/toolkit/where.h"

#include <atomic>
#include <cstddef>

#include "dataset/base/require.h"
#include "dataset/toolkit/names.h"
#include "dataset/toolkit/where/where_evaluation.h"
#include "dataset/toolkit/where/where_notes.h"
#include "dataset/toolkit/where/where_parser.h"
#include "recordpipe/base/error.h"
#include "recordpipe/toolkit/feature_edit.h"

namespace recordpipe {
namespace {

void set_once(bool& flag) {
  const std::atomic_ref shared(flag);
  if (!shared.load(std::memory_order_relaxed)) shared.store(true, std::memory_order_relaxed);
}

}  // namespace

struct Where::State {
  const Condition condition;
  const std::string called;
  const bool uses_features = does_use_features(condition);
  FirstNames names = {};
  UnknownRecords unknown = {};
  IsKnown is_known = {};
  // Whether there was any record, and whether some record matched; any thread may set them.
  bool any = false;
  bool matched = false;
};

Where::Where(std::string_view expression, std::string_view called)
    : state_(
          new State{.condition = parse_where(expression, called), .called = std::string(called)}) {}
Where::Where(const Where& other)
    : state_(new State{.condition = other.state_->condition, .called = other.state_->called}) {
  visit_conditions(state_->condition, [](const Condition& condition) { condition.kinds = 0; });
}
Where::~Where() = default;
Where::Where(Where&&) noexcept = default;
Where& Where::operator=(Where&&) noexcept = default;

void Where::set_known(IsKnown is_known) { state_->is_known = std::move(is_known); }

bool Where::matches(const MessageView& message) const { return matches(message, nullptr, nullptr); }

bool Where::matches(const MessageView& message, const NumberedRecord& record,
                    const ExactNumbers* exact) const {
  return matches(message, &record, exact);
}

bool Where::matches(const MessageView& message, const NumberedRecord* record,
                    const ExactNumbers* exact) const {
  set_once(state_->any);
  state_->names.add(message);
  if (state_->uses_features && message.kind() == MessageKind::unknown) {
    state_->unknown.add(message, record);
  }
  const bool does = holds({message, record, exact}, state_->condition);
  if (does) set_once(state_->matched);
  note_present(message, state_->condition);
  return does;
}

std::string Where::require_possible(bool looked_at_all) const {
  const State& state = *state_;
  const std::string note = state.unknown.note(state.called, looked_at_all);
  try {
    const std::string* const missing =
        state.any ? first_missing(state.condition, state.is_known) : nullptr;
    if (missing != nullptr) {
      throw Error({.kind = ErrorKind::not_found,
                   .reason = state.called + " names " + printable(*missing) + ", which no record " +
                             (looked_at_all ? "" : "that was read ") + "has; " +
                             there_are(state.names.all(), *missing),
                   .hint = note});
    }
    if (!state.matched) require_all_comparable(state.condition, state.called);
  } catch (const Error& error) {
    if (looked_at_all) throw;
    return note.empty() ? error.reason() : error.reason() + "; " + note;
  }
  return note;
}

Where::Seen Where::seen() const {
  Seen seen{.any = state_->any,
            .matched = state_->matched,
            .names = state_->names.all(),
            .unknown = state_->unknown.all()};
  visit_conditions(state_->condition,
                   [&](const Condition& condition) { seen.kinds.push_back(condition.kinds); });
  return seen;
}

void Where::add_seen(const Seen& seen) {
  size_t count = 0;
  visit_conditions(state_->condition, [&](const Condition&) { ++count; });
  require(seen.kinds.size() == count,
          state_->called + " is another expression than that of a part");
  auto kinds = seen.kinds.begin();
  visit_conditions(state_->condition, [&](const Condition& condition) {
    condition.kinds = static_cast<uint8_t>(condition.kinds | *kinds++);
  });
  state_->names.add(seen.names);
  state_->unknown.add(seen.unknown);
  state_->any = state_->any || seen.any;
  state_->matched = state_->matched || seen.matched;
}

}  // namespace recordpipe
