// window: runs of elements, which may overlap.
//
// In order. A window with an element that fails fails as a whole. Its id is its number. Saved: how
// many windows there were, and the input's place at the next one's first element.
#include <algorithm>
#include <deque>
#include <exception>
#include <string>
#include <utility>

#include "dataset/pipeline/engine/chunk_reader.h"
#include "dataset/pipeline/engine/node.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/operators.h"

namespace recordpipe::internal {
namespace {

class WindowPlan final : public StorePlan {
 public:
  WindowPlan(std::shared_ptr<ValueStore> store, Stage input, size_t size, size_t shift,
             bool drop_remainder, CopyElement copy, const StageContext& context)
      : StorePlan(std::move(store)),
        size_(size),
        shift_(shift),
        drop_remainder_(drop_remainder),
        copy_(copy),
        charge_(context.memory),
        reader_(std::move(input), context),
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
      if (out.count() > 0 && next_may_be_long()) break;  // what is there doesn't wait for it
      if (!gather()) return end_or_stop();
      out.push({{epoch_, next_++}, keep_window()});
      unwanted_ = shift_;
      for (; unwanted_ > 0 && !elements_.empty(); --unwanted_) {
        charge_.set(charge_.bytes() - elements_.front().bytes());
        elements_.pop_front();
      }
    }
    return Stop::none;
  }

  void do_restart(uint64_t epoch) override {
    forget(epoch);
    reader_.restart(epoch);
  }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, 1);
    forget(epoch);
    next_ = numbers.next();
    unwanted_ = static_cast<size_t>(numbers.next(shift_));
    reader_.restore(numbers.input(), epoch);
  }

  void do_request_stop() override { reader_.request_stop(); }

 private:
  struct Kept {
    ElementBuffer value;
    std::exception_ptr error;
    uint64_t bytes() const { return sizeof(Kept) + value.bytes(); }
  };

  uint64_t first_element() const { return reader_.position() - elements_.size(); }

  // The next window wants more than what is at hand.
  bool next_may_be_long() const {
    return elements_.size() + reader_.count_at_hand() < size_ + unwanted_;
  }

  // Has elements_ hold the next window; false where there is none.
  bool gather() {
    while (elements_.size() < size_) {
      if (!reader_.is_at_hand()) {
        reader_.release(first_element());
        if (!reader_.fetch()) {
          return !is_stopping() && !drop_remainder_ && !elements_.empty();
        }
      }
      if (unwanted_ > 0) {
        --unwanted_;
      } else {
        Kept kept{ElementBuffer(reader_.element(), 1), reader_.take_error()};
        reader_.element().swap(kept.value.data(), reader_.value());
        charge_.add(kept.bytes());
        elements_.push_back(std::move(kept));
      }
      reader_.pass();
    }
    return true;
  }

  uint64_t keep_window() {
    const VectorOps& ops = *store().ops().vector;
    for (const Kept& element : elements_) {
      if (element.error) return store().put_failure(element.error);
    }
    ops.resize(window_.data(), elements_.size());
    for (size_t i = 0; i < elements_.size(); ++i) {
      copy_(elements_[i].value.at(0), element_at(ops.data(window_.data()), ops.element, i));
    }
    return store().put(window_.data());
  }

  void forget(uint64_t epoch) {
    elements_.clear();
    charge_.set(0);
    unwanted_ = 0;
    epoch_ = epoch;
    next_ = 0;
  }

  const size_t size_;
  const size_t shift_;
  const bool drop_remainder_;
  const CopyElement copy_;
  MemoryCharge charge_;  // for elements_
  ChunkReader reader_;
  std::deque<Kept> elements_;  // from the next window's first on
  size_t unwanted_ = 0;        // inputs before it
  ElementBuffer window_;       // one, being made
  uint64_t epoch_ = 0;
  uint64_t next_ = 0;
};

class WindowNode final : public UnaryNode {
 public:
  WindowNode(NodePtr input, size_t size, size_t shift, bool drop_remainder, CopyElement copy,
             const ElementOps& vector)
      : UnaryNode(std::move(input), vector),
        size_(size),
        shift_(shift),
        drop_remainder_(drop_remainder),
        copy_(copy) {}
  PlanDescription describe() const override {
    return described("window",
                     {{"size", size_}, {"shift", shift_}, {"drop_remainder", drop_remainder_}});
  }

 protected:
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
  CopyElement copy_;
};

}  // namespace

NodePtr window(NodePtr input, size_t size, size_t shift, bool drop_remainder, CopyElement copy,
               const ElementOps& vector) {
  const auto require = [](bool condition, const char* reason) {
    if (!condition) throw Error({.kind = ErrorKind::invalid_argument, .reason = reason});
  };
  require(size > 0, "window: size must be at least 1");
  require(shift > 0, "window: shift must be at least 1");
  return std::make_shared<WindowNode>(std::move(input), size, shift, drop_remainder, copy, vector);
}

}  // namespace recordpipe::internal
