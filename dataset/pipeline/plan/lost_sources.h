// Where an operator leaves out elements: the failing elements that stand for a lost source.
//
// An input of interleave or flat_map that ends with an error, and an element that unbatch or
// flat_map can't divide, become one failing element; all that the source would have yielded is
// missing. An operator that leaves this element out, as a worker's shard leaves out those of other
// workers, would lose the rest of the source without a word.
#pragma once

#include <exception>
#include <memory>
#include <utility>

#include "dataset/pipeline/execute/value_store.h"
#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/skip_log.h"
#include "dataset/pipeline/plan/stage_context.h"
#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/internal/ticket.h"

namespace recordpipe::internal {

// Returns the failing element that stands for the source that `opener` has opened.
inline Ticket lost_source(const ElementId& opener, std::exception_ptr error, ValueStore& store,
                          const StageContext& context) {
  const ElementId id = child_id(opener, kEndOfSource);
  if (context.errors_are_skipped && context.skipped) context.skipped->keep_lost(id, error);
  return {id, store.put_failure(std::move(error))};
}

class LostSources {
 public:
  LostSources(const Node& input, const StageContext& context)
      : may_come_(input.may_lose_sources()),
        skipped_(context.errors_are_skipped ? context.skipped : nullptr) {}

  // Whether the input may have such elements; otherwise, they need not be looked for.
  bool may_come() const { return may_come_; }

  // Whether the element of a ticket that the operator leaves out must be yielded all the same. If
  // an ignore_errors follows that skips its error, it only counts as skipped.
  bool must_be_yielded(const Ticket& ticket) const {
    if (!may_come_ || !ends_source(ticket.id)) return false;
    if (!skipped_ || skipped_->is_not_skipped(ticket.id)) return true;
    if (skipped_->add_lost(ticket.id)) return false;
    // Of zip, for example, which makes other ids.
    skipped_->add(
        Error({.kind = ErrorKind::corrupted,
               .reason = "a source of interleave, flat_map or unbatch has ended with an error, in "
                         "an element that is left out here (by shard, skip or batch); "
                         "the rest of the input is missing"}));
    return false;
  }

 private:
  bool may_come_;
  std::shared_ptr<SkipLog> skipped_;
};

}  // namespace recordpipe::internal
