// Implements the common part of the operators that group elements by their sizes: each group
// becomes one element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataset/pipeline/operators/grouping/batching.h"
#include "dataset/pipeline/operators/grouping/measured_elements.h"
#include "dataset/pipeline/plan/plan.h"

namespace recordpipe::internal {

// The elements of a group, and their positions in the input.
struct Group {
  TicketGroup members;
  std::vector<uint64_t> places;
};

// A subclass assigns elements to groups that are open, and completes groups. An element that fails
// has no size, so it becomes a group of its own, at once, which fails with its error. The id of an
// output is its number.
//
// The saved state is the number of outputs, and the positions in the input of the next element and
// of all elements in groups that were not returned: 8 bytes for each. A restore computes these
// elements again and adds them to the groups in the same order. So a subclass must assign an
// element by its own size and the open groups only, and the groups that were returned before must
// not affect the assignment of the others.
class GroupPlan : public OrderPlan {
 public:
  // The plan of `measured` is a MeasuredPlan, and `shared` was made with this stage.
  GroupPlan(std::unique_ptr<Plan> measured, std::shared_ptr<Batching> shared);

  void discard(std::span<const Ticket> tickets) override;
  bool can_save() const override { return true; }
  void save(PlanState& state) const override;

 protected:
  // Adds an element to a group. Passes groups that are complete to complete().
  virtual void add(const Ticket& member, uint64_t place, std::span<const uint64_t> sizes) = 0;
  // At the end of the input: passes all open groups to complete() or drop().
  virtual void complete_all() = 0;
  // Calls visit(group) for each open group.
  virtual void for_each_open(const std::function<void(const Group&)>& visit) const = 0;
  // Forgets the open groups, whose members have been discarded.
  virtual void clear() = 0;

  // Empties `group`.
  void complete(Group& group) { complete_.push_back(std::exchange(group, {})); }
  void drop(Group& group);

  void charge_to(const std::shared_ptr<MemoryAccount>& account) override;
  Stop do_plan(TicketSink& out, Wait wait) override;
  void do_restart(Epoch epoch) override;
  void do_restore(const PlanState& state, Epoch epoch) override;

 private:
  const MeasuredPlan& measured() const { return static_cast<const MeasuredPlan&>(input()); }
  Stop fetch(Wait wait);
  void add_row();
  void forget(Epoch epoch);

  static constexpr size_t kStep = 256;

  std::shared_ptr<Batching> shared_;
  std::deque<Group> complete_;  // not returned yet
  std::vector<Ticket> rows_;    // planned, but not added from row_at_ on
  size_t row_at_ = 0;
  std::vector<uint64_t> again_;  // after a restore: positions of elements to add first
  size_t again_at_ = 0;
  uint64_t taken_ = 0;  // the position after all elements added so far
  bool input_ended_ = false;
  uint64_t epoch_ = 0;
  uint64_t next_ = 0;
  uint64_t held_ = 0;  // number of elements in groups that were not returned
  MemoryCharge charge_;
};

}  // namespace recordpipe::internal
