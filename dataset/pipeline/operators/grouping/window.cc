// window: yields runs of elements, which may overlap.
//
// Keeps the order. If an element fails or can't be copied, all windows that contain it fail. The id
// of a window is its number. Saved state: the number of windows, the input's position, and the
// number of elements to skip from there to the next window.
#include <algorithm>
#include <deque>
#include <exception>
#include <utility>

#include "dataset/base/require.h"
#include "dataset/pipeline/execute/chunk_reader.h"
#include "dataset/pipeline/execute/value_store.h"
#include "dataset/pipeline/plan/node.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

class WindowPlan final : public StorePlan {
 public:
  WindowPlan(std::shared_ptr<ValueStore> store, Stage input, size_t size, size_t shift,
             bool drop_remainder, CopyElements copy, const StageContext& context)
      : StorePlan(std::move(store)),
        size_(size),
        shift_(shift),
        drop_remainder_(drop_remainder),
        copy_(copy),
        charge_(context.memory),
        reader_(std::move(input), context),
        elements_(reader_.element()),
        window_(this->store().ops(), 1) {
    reader_.keep_places();
  }

  void save(PlanState& state) const override {
    state.reset(1).numbers = {next_, unwanted_};
    reader_.save(first_element(), state.inputs[0]);
  }

 protected:
  Stop do_plan(TicketSink& out, Wait) override {
    while (!out.is_full()) {
      if (out.count() > 0 && next_may_be_long()) break;  // don't let finished windows wait
      if (!gather()) return end_or_stop();
      out.push({{epoch_, next_++}, keep_window()});
      unwanted_ = shift_;
      drop(std::min(unwanted_, count_));
    }
    return Stop::none;
  }

  void do_restart(Epoch epoch) override {
    forget(epoch);
    reader_.restart(epoch);
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, 1);
    forget(epoch);
    next_ = numbers.next();
    unwanted_ = static_cast<size_t>(numbers.next(shift_));
    reader_.restore(numbers.input(), epoch);
  }

  void do_request_stop() override { reader_.request_stop(); }

 private:
  uint64_t first_element() const { return reader_.position() - count_; }

  // Whether the next window needs more elements than have been fetched.
  bool next_may_be_long() const { return count_ + reader_.count_at_hand() < size_ + unwanted_; }

  // Fills elements_ with the next window; returns false if there is none.
  bool gather() {
    while (count_ < size_) {
      if (!reader_.is_at_hand()) {
        reader_.release(first_element());
        if (!reader_.fetch()) {
          return !is_stopping() && !drop_remainder_ && count_ > 0;
        }
      }
      const size_t passed = std::min(unwanted_, reader_.count_at_hand());
      reader_.pass(passed);
      unwanted_ -= passed;
      keep(std::min(size_ - count_, reader_.count_at_hand()));
    }
    return true;
  }

  // Adds the next `count` inputs, which are at hand.
  void keep(size_t count) {
    const ElementOps& ops = reader_.element();
    if (count_ + count > elements_.size()) {
      // Before the first complete window, nothing is dropped, so first_ is 0.
      elements_.grow(std::min(size_, std::max(2 * elements_.size(), count_ + count)));
    }
    for (Failure& failure : reader_.take_failures(count)) {
      failures_.push_back({reader_.position() + failure.at, std::move(failure.error)});
    }
    void* const inputs = reader_.value();
    for (size_t i = 0; i < count; ++i) {
      move_element(ops, element_at(inputs, ops, i), elements_.at(slot(count_ + i)));
    }
    charge_.set(elements_.bytes());
    count_ += count;
    reader_.pass(count);
  }

  // Drops the first `count` elements.
  void drop(size_t count) {
    first_ = slot(count);
    count_ -= count;
    unwanted_ -= count;
    while (!failures_.empty() && failures_.front().at < first_element()) failures_.pop_front();
  }

  // The index in elements_ of the i-th element.
  size_t slot(size_t i) const {
    const size_t at = first_ + i;
    return at < elements_.size() ? at : at - elements_.size();
  }

  uint64_t keep_window() {
    if (!failures_.empty()) return store().put_failure(failures_.front().error);
    try {
      const VectorOps& ops = *store().ops().vector;
      ops.resize(window_.data(), count_);
      void* const values = ops.data(window_.data());
      const size_t up_to_end = std::min(count_, elements_.size() - first_);
      copy_(elements_.at(first_), up_to_end, values);
      copy_(elements_.data(), count_ - up_to_end, element_at(values, ops.element, up_to_end));
    } catch (...) {
      return store().put_failure(std::current_exception());
    }
    return store().put(window_.data());
  }

  void forget(Epoch epoch) {
    first_ = count_ = 0;
    failures_.clear();
    unwanted_ = 0;
    epoch_ = epoch.ids;
    next_ = 0;
  }

  const size_t size_;
  const size_t shift_;
  const bool drop_remainder_;
  const CopyElements copy_;
  MemoryCharge charge_;  // for elements_
  ChunkReader reader_;
  // The elements from the next window's first on: a ring of up to size_ values.
  ElementBuffer elements_;
  size_t first_ = 0;
  size_t count_ = 0;
  std::deque<Failure> failures_;  // of these elements; `at` counts like reader_.position()
  size_t unwanted_ = 0;           // number of inputs to skip before the next window
  ElementBuffer window_;          // the window being made
  uint64_t epoch_ = 0;
  uint64_t next_ = 0;
};

class WindowNode final : public UnaryNode {
 public:
  WindowNode(NodePtr input, size_t size, size_t shift, bool drop_remainder, CopyElements copy,
             const ElementOps& vector)
      : UnaryNode(std::move(input), vector),
        size_(size),
        shift_(shift),
        drop_remainder_(drop_remainder),
        copy_(copy) {}
  Cardinality cardinality() const override {
    const Cardinality elements = input().cardinality();
    if (elements <= 0) return elements;
    // The positions at which a window may start.
    const auto count = static_cast<uint64_t>(elements);
    if (drop_remainder_ && count < size_) return 0;
    const uint64_t last = drop_remainder_ ? count - size_ : count - 1;
    return known_cardinality(last / shift_ + 1);
  }

 protected:
  PlanDescription describe_operator() const override {
    return {"window", {{"size", size_}, {"shift", shift_}, {"drop_remainder", drop_remainder_}}};
  }
  Stage build_stage(const StageContext& context) const override {
    Stage stage = input().make_stage(context);
    const size_t chunk_size = std::max<size_t>(1, stage.chunk_size / shift_);
    return make_store_stage<WindowPlan>(element(), chunk_size, std::move(stage), size_, shift_,
                                        drop_remainder_, copy_, context);
  }

 private:
  size_t size_;
  size_t shift_;
  bool drop_remainder_;
  CopyElements copy_;
};

}  // namespace

NodePtr window(NodePtr input, size_t size, size_t shift, bool drop_remainder, CopyElements copy,
               const ElementOps& vector) {
  require(size > 0, "window: size must be at least 1");
  require(shift > 0, "window: shift must be at least 1");
  return std::make_shared<WindowNode>(std::move(input), size, shift, drop_remainder, copy, vector);
}

}  // namespace recordpipe::internal
