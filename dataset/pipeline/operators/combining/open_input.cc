#include "dataset/pipeline/operators/combining/open_input.h"

#include <span>
#include <utility>

#include "recordpipe/pipeline/internal/element_ops.h"

namespace recordpipe::internal {
namespace {

constexpr uint64_t kHandedOn = 0x696E707574;
constexpr uint64_t kMaxBytes = uint64_t{1} << 20;

}  // namespace

OpenInput::OpenInput(NodePtr node, const StageContext& context, const ElementId& id,
                     uint64_t position, PlanState opened_at, size_t fetch_size, ValueStore& store,
                     TaskQueue& queue)
    : id_(id),
      position_(position),
      opened_at_(std::move(opened_at)),
      fetch_size_(fetch_size),
      memory_(context.memory),
      store_(store),
      queue_(queue),
      node_(std::move(node)),
      executor_(node_->make_stage(context), context) {
  executor_.restart(epoch());
}

OpenInput::~OpenInput() {
  executor_.request_stop();
  queue_.cancel(*this);
  store_.discard(std::span(ready_).subspan(at_));
  store_.discard(fetched_);
}

void OpenInput::read_ahead() {
  if (!std::exchange(reads_ahead_, true)) queue_.start(*this);
}

bool OpenInput::fetch() {
  if (has_next()) return true;
  if (failed_) return false;
  executor_.release(taken_);
  reads_ahead_ = false;
  ready_.clear();
  at_ = 0;
  std::exception_ptr error;
  queue_.wait(*this, [&] {
    ready_.swap(fetched_);
    if (ready_.empty()) error = std::exchange(error_, nullptr);
    return has_next() || has_ended_;
  });
  if (!error) return has_next();
  failed_ = true;
  std::rethrow_exception(error);
}

void OpenInput::restore(const PlanState& state, bool failed) {
  failed_ = failed;
  executor_.restore(state, epoch());
  taken_ = executor_.position();
}

void OpenInput::run(bool is_needed) noexcept {
  const size_t wanted = is_needed || memory_->is_limited() ? 1 : fetch_size_;
  size_t fetched = 0;
  uint64_t bytes = 0;
  if (has_ended_) return;
  try {
    while (fetched < wanted && bytes < kMaxBytes) {
      const Chunk chunk = executor_.next_with_failures();
      if (chunk.empty()) return end(nullptr);
      fetched += chunk.size();
      bytes += element_bytes(chunk.values, *chunk.ops, chunk.size());
      keep(chunk);
    }
  } catch (...) {
    end(std::current_exception());
  }
}

void OpenInput::end(std::exception_ptr error) {
  queue_.hand_over([&] {
    has_ended_ = true;
    error_ = std::move(error);
  });
}

void OpenInput::keep(const Chunk& chunk) {
  std::vector<Ticket> tickets(chunk.tickets.begin(), chunk.tickets.end());
  for (size_t i = 0; i < tickets.size(); ++i) tickets[i].ref = i;
  store_.put(chunk.values, tickets, chunk.failures);
  // The ids must differ from the ids inside the input, which its operators have already used for
  // random numbers.
  for (Ticket& ticket : tickets) ticket.id.epoch = derive_key(ticket.id.epoch, kHandedOn);
  queue_.hand_over([&] { fetched_.insert(fetched_.end(), tickets.begin(), tickets.end()); });
}

}  // namespace recordpipe::internal
