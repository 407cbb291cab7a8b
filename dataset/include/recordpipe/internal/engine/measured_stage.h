// A Stage as it is, with its time, elements and memory counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "recordpipe/internal/engine/memory_account.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/stage_monitor.h"

namespace recordpipe {

template <Element T>
class MeasuredProducer final : public Producer<T> {
 public:
  MeasuredProducer(std::unique_ptr<Producer<T>> producer, StageMonitor& monitor,
                   const std::shared_ptr<MemoryAccount>& memory)
      : producer_(std::move(producer)), monitor_(monitor), scratch_(memory) {}

  // Called by the producer of the next operator: `out` is its scratch memory.
  Failures produce(std::span<const Ticket> tickets, std::span<T> out) override {
    Failures failures;
    {
      const ActivityScope scope(&monitor_, Activity::computing);
      failures = producer_->produce(tickets, out);
    }
    scratch_.set(bytes_of(std::span<const T>(out)));
    return failures;
  }

  void begin(std::span<const Ticket> tickets, std::span<T> out) override {
    const ActivityScope scope(&monitor_, Activity::computing);
    producer_->begin(tickets, out);
  }

  Failures produce_part(std::span<const Ticket> tickets, std::span<T> out, size_t part) override {
    const ActivityScope scope(&monitor_, Activity::computing);
    return producer_->produce_part(tickets, out, part);
  }

 private:
  std::unique_ptr<Producer<T>> producer_;
  StageMonitor& monitor_;
  MemoryCharge scratch_;
};

template <Element T>
class MeasuredStage final : public Stage<T> {
 public:
  MeasuredStage(std::unique_ptr<Stage<T>> stage, StageMonitor& monitor,
                std::shared_ptr<MemoryAccount> memory)
      : stage_(std::move(stage)), monitor_(monitor), memory_(std::move(memory)) {}

  size_t do_plan(std::span<Ticket> out, Wait wait) override {
    const ActivityScope scope(&monitor_, Activity::planning);
    // Where the pipeline has far too much, nothing more is planned: an operator that gathers
    // elements would take any number before one is handed on and the rest is counted.
    memory_->check_total();
    const size_t planned = stage_->plan(out, wait);
    monitor_.add_elements(planned);
    return planned;
  }
  void do_discard(std::span<const Ticket> tickets) override { stage_->discard(tickets); }
  void do_restart(uint64_t epoch) override { stage_->restart(epoch); }
  uint64_t do_advance(uint64_t count) override {
    const ActivityScope scope(&monitor_, Activity::planning);
    return stage_->advance(count);
  }
  uint64_t size() override { return stage_->size(); }
  void tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    const ActivityScope scope(&monitor_, Activity::planning);
    stage_->tickets_at(places, out);
    monitor_.add_elements(places.size());
  }
  bool can_save() const override { return stage_->can_save(); }
  void save(PlanState& state) const override { stage_->save(state); }
  void do_restore(const PlanState& state, uint64_t epoch) override {
    stage_->restore(state, epoch);
  }
  void do_request_stop() override { stage_->request_stop(); }
  std::unique_ptr<Producer<T>> make_producer() override {
    if (stage_->hands_work_through()) return stage_->make_producer();
    return std::make_unique<MeasuredProducer<T>>(stage_->make_producer(), monitor_, memory_);
  }
  bool hands_work_through() const override { return stage_->hands_work_through(); }
  bool has_work() const override { return stage_->has_work(); }
  size_t chunk_size() const override { return stage_->chunk_size(); }
  size_t parts(std::span<const Ticket> tickets) override { return stage_->parts(tickets); }

 private:
  std::unique_ptr<Stage<T>> stage_;
  StageMonitor& monitor_;
  const std::shared_ptr<MemoryAccount> memory_;
};

}  // namespace recordpipe
