// cache: keeps the elements of the first pass in memory for all later passes and iterators.
//
// Keeps the order of the input. The input runs only once, always in epoch 0: upstream random
// numbers are drawn once and stay the same, whichever pass fills the cache. Downstream, each pass
// has its own epoch, so a shuffle after the cache shuffles anew. Failed elements are kept as
// failed.
//
// Saved state: the number of elements that this pass has returned. A restored iterator fills an
// empty cache from the first element.
#include "recordpipe/pipeline/cache.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>
#include <utility>

#include "dataset/pipeline/execute/chunk_reader.h"
#include "dataset/pipeline/operators/buffering/cache_contents.h"
#include "dataset/pipeline/plan/node.h"
#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

using Kept = CacheContents::Kept;

class CopyProducer final : public Producer {
 public:
  CopyProducer(const ElementOps& ops, CopyElements copy) : ops_(ops), copy_(copy) {}

 protected:
  Failures do_produce(std::span<const Ticket> tickets, void* out) override {
    Failures failures;
    for_each_good(tickets.size(), failures, [&](size_t i) {
      const Kept& kept = *reinterpret_cast<const Kept*>(static_cast<uintptr_t>(tickets[i].ref));
      if (kept.error) std::rethrow_exception(kept.error);
      copy_(kept.value, 1, element_at(out, ops_, i));
    });
    return failures;
  }

 private:
  const ElementOps& ops_;
  const CopyElements copy_;
};

class CachePlan final : public Plan {
 public:
  CachePlan(Stage input, CacheSource source, CacheContents& contents, const StageContext& context)
      : contents_(contents),
        source_(std::move(source)),
        charge_(context.memory),
        reader_(std::move(input), context) {
    context.files->include(contents_.fingerprints());
  }

  void discard(std::span<const Ticket>) override {}
  void save(PlanState& state) const override { state.reset(0).numbers = {at_}; }

 protected:
  Stop do_plan(TicketSink& out, Wait) override {
    while (true) {
      bool too_much = false;
      contents_.visit(at_, [&](const Kept& kept) {
        if (out.is_full()) return false;
        too_much = !charge(kept);
        if (too_much) return false;
        __builtin_prefetch(kept.value);  // CopyProducer reads the value next
        out.push({{nested_epoch(epoch_, kept.id.epoch), kept.id.index},
                  reinterpret_cast<uintptr_t>(&kept)});
        ++at_;
        return true;
      });
      if (too_much) charge_.check();  // throws
      if (out.count() > 0) return Stop::none;
      const Stop stop = fetch();
      if (stop != Stop::none) return stop;
    }
  }

  void do_restart(Epoch epoch) override {
    if (was_stopped_.exchange(false)) started_ = false;
    epoch_ = epoch.ids;
    at_ = 0;
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, 0);
    do_restart(epoch);
    at_ = numbers.next();
  }

  void do_request_stop() override {
    was_stopped_ = true;
    reader_.request_stop();
  }

 private:
  // Charges the contents up to this element. Returns whether they fit in the memory limit.
  bool charge(const Kept& kept) {
    charge_.set(std::max(charge_.bytes(), kept.bytes));
    return charge_.fits();
  }

  // Called if the contents don't have element at_ yet: computes the next elements, which this plan
  // has not computed, or returns the reason why there are none.
  Stop fetch() {
    if (contents_.has_ended() || contents_.is_full()) {
      if (at_ < contents_.size()) return Stop::none;  // added by other iterators meanwhile
      if (contents_.is_full()) fail_full();
      if (at_ > contents_.size()) fail_state();
      return Stop::end;
    }
    if (!started_) start();
    if (reader_.fetch()) {
      contents_.add(reader_, source_);
      return Stop::none;
    }
    if (is_stopping()) return Stop::requested;
    contents_.end();
    return fetch();
  }

  // Moves the reader past the existing elements. From there, it reads on through all passes.
  void start() {
    reader_.restart(/*epoch=*/0);
    if (is_stopping()) reader_.request_stop();
    uint64_t passed = 0;
    reader_.advance(contents_.size(), passed);
    started_ = true;
  }

  [[noreturn]] void fail_full() const {
    throw Error({.kind = ErrorKind::limit_exceeded,
                 .reason = "cache: element " + std::to_string(contents_.size()) +
                           " doesn't fit in max_bytes=" + std::to_string(contents_.max_bytes()),
                 .hint = "allow more, or cache to a file"});
  }

  CacheContents& contents_;  // owned by the node
  const CacheSource source_;
  MemoryCharge charge_;  // for the contents, up to the last element that this iterator has reached
  ChunkReader reader_;
  bool started_ = false;
  std::atomic<bool> was_stopped_ = false;
  uint64_t epoch_ = 0;
  uint64_t at_ = 0;
};

class CacheNode final : public UnaryNode {
 public:
  CacheNode(NodePtr input, const CacheOptions& options, CopyElements copy)
      : UnaryNode(std::move(input)),
        copy_(copy),
        contents_(std::make_unique<CacheContents>(element(), options.max_bytes)) {}
  Cardinality cardinality() const override { return input().cardinality(); }

 protected:
  PlanDescription describe_operator() const override { return {"cache", {}}; }
  Stage build_stage(const StageContext& context) const override {
    CacheSource source{.open_files = std::make_shared<OpenFiles>(context.open_files),
                       .fingerprints = std::make_shared<FileFingerprints>(context.files)};
    StageContext own = context;
    own.files = source.fingerprints;
    own.open_files = source.open_files;
    Stage stage = input().make_stage(own);
    const size_t chunk_size = stage.chunk_size;
    return {
        std::make_unique<CachePlan>(std::move(stage), std::move(source), *contents_, context),
        std::make_shared<Work>(element(), /*is_heavy=*/element().heap_bytes != nullptr,
                               [this] { return std::make_unique<CopyProducer>(element(), copy_); }),
        chunk_size};
  }

 private:
  CopyElements copy_;
  std::unique_ptr<CacheContents> contents_;
};

}  // namespace

NodePtr cache(NodePtr input, const CacheOptions& options, CopyElements copy) {
  return std::make_shared<CacheNode>(std::move(input), options, copy);
}

}  // namespace recordpipe::internal
