// cache(path): keeps the elements of a whole pass in a file for later passes and runs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "recordpipe/cache_codec.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/engine/executor.h"
#include "recordpipe/internal/engine/node.h"
#include "recordpipe/internal/engine/stage.h"
#include "recordpipe/internal/engine/value_store.h"
#include "recordpipe/internal/operators/cache_file.h"
#include "recordpipe/internal/operators/element_type_name.h"
#include "recordpipe/internal/operators/keep_alive.h"

namespace recordpipe {

// Order, epochs and random numbers as in memory (cache.h). A pass that finds the file serves from
// it; one that doesn't computes its elements, always those of epoch 0, and writes the file beside:
// it appears, whole, when the pass has come to its end. A pass that is given up, restored to its
// middle, or has an element that fails leaves none (tf.data's rule), and neither does one that
// finds another process or iterator writing it: the next pass looks again.
//
// A file that was made from other operators, parameters or source files is refused by name, and so
// is one where a file that the inputs of interleave and flat_map have read has changed. Remove the
// cache yourself where functions are others, or values in a vector, or where such an input's file
// was moved, was read through another FileSystem than the cache, or not by tfrecord_files: that is
// not seen.
//
// Saved: how many elements this pass has handed on.
template <Element T, CacheCodecOf<T> Codec>
class FileCacheStage final : public Stage<T> {
 public:
  FileCacheStage(std::unique_ptr<Stage<T>> upstream, FileSystem& file_system,
                 const std::string& path, CacheIdentity identity, const Codec& codec,
                 const StageContext& context)  // whose files are those of `upstream`
      : file_system_(file_system),
        path_(path),
        identity_(std::move(identity)),
        codec_(codec),
        open_files_(context.open_files),
        chunk_size_(upstream->chunk_size()),
        files_(context.files),
        executor_(std::move(upstream), context) {}

  size_t do_plan(std::span<Ticket> out, Wait) override {
    if (failure_) std::rethrow_exception(failure_);
    try {
      if (!started_) start();
      return reader_ ? plan_stored(out) : plan_computed(out);
    } catch (...) {
      writer_.reset();
      failure_ = std::current_exception();
      throw;
    }
  }

  void charge_to(const std::shared_ptr<MemoryAccount>& account) override {
    computed_.charge_to(account);
  }

  void do_discard(std::span<const Ticket> tickets) override {
    for (const Ticket& ticket : tickets) {
      if (is_stored(ticket)) continue;
      const Ticket kept{ticket.id, place_of(ticket)};
      computed_.discard({&kept, 1});
    }
  }

  uint64_t do_advance(uint64_t count) override {
    if (started_ || at_ > 0) return Stage<T>::do_advance(count);
    at_ = count;  // where there are fewer, start() says so
    start();
    return at_;
  }

  void do_restart(uint64_t epoch) override {
    writer_.reset();
    failure_ = nullptr;
    started_ = stopping_ = false;
    epoch_ = epoch;
    at_ = 0;
  }

  void save(PlanState& state) const override { state.reset(0).numbers = {at_}; }

  void do_restore(const PlanState& state, uint64_t epoch) override {
    PlanNumbers numbers(state, 0);
    do_restart(epoch);
    const uint64_t at = numbers.next();
    if (pass_over(*this, at) < at) fail_state();
  }

  void do_request_stop() override {
    stopping_ = true;
    executor_.request_stop();
  }

  std::unique_ptr<Producer<T>> make_producer() override {
    return std::make_unique<FileCacheProducer>(*this);
  }
  bool has_work() const override { return true; }
  size_t chunk_size() const override { return chunk_size_; }

 private:
  // A ticket's ref is twice the element's number in the file, or twice its place in computed_ and
  // one.
  static bool is_stored(const Ticket& ticket) { return ticket.ref % 2 == 0; }
  static uint64_t place_of(const Ticket& ticket) { return ticket.ref / 2; }

  class FileCacheProducer final : public Producer<T> {
   public:
    explicit FileCacheProducer(FileCacheStage& stage) : stage_(stage) {}
    Failures produce(std::span<const Ticket> tickets, std::span<T> out) override {
      Failures failures;
      for (size_t i = 0; i < tickets.size(); ++i) {
        try {
          if (is_stored(tickets[i])) {
            out[i] = stage_.codec_.decode(stage_.reader_->read(place_of(tickets[i])));
            continue;
          }
          const Ticket kept{tickets[i].id, place_of(tickets[i])};
          Failures failed = stage_.computed_.take({&kept, 1}, out.subspan(i, 1));
          if (!failed.empty()) failures.push_back({i, std::move(failed[0].error)});
        } catch (...) {
          failures.push_back({i, std::current_exception()});
        }
      }
      return failures;
    }

   private:
    FileCacheStage& stage_;
  };

  // Begins a pass at at_: from the file, if it is there. Of what isn't, at_ is what there was.
  void start() {
    started_ = true;
    if (!reader_ && file_system_.status(path_)) {
      reader_ = std::make_shared<const CacheReader>(file_system_, path_, identity_);
      if (open_files_) open_files_->add(reader_);
    }
    if (reader_) {
      at_ = std::min(at_, reader_->size());
      return;
    }
    chunk_ = {};
    chunk_at_ = 0;
    executor_.restart(/*epoch=*/0);
    if (stopping_) executor_.request_stop();
    if (at_ > 0) {
      at_ = executor_.advance(at_);
      return;
    }
    try {
      writer_.emplace(file_system_, path_, identity_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::busy) throw;
    }
  }

  size_t plan_stored(std::span<Ticket> out) {
    size_t planned = 0;
    for (; planned < out.size() && at_ < reader_->size(); ++planned, ++at_) {
      out[planned] = {id_in_pass(reader_->id(at_)), 2 * at_};
    }
    return planned;
  }

  size_t plan_computed(std::span<Ticket> out) {
    if (chunk_at_ == chunk_.size()) {
      chunk_at_ = 0;
      chunk_ = {};  // first: the executor may throw
      chunk_ = executor_.next_with_failures();
      executor_.release(executor_.position());
      if (chunk_.empty()) {
        if (writer_ && !stopping_) {
          writer_->finish(*files_);
          writer_.reset();
        }
        return 0;
      }
    }
    size_t planned = 0;
    for (; planned < out.size() && chunk_at_ < chunk_.size(); ++planned, ++chunk_at_, ++at_) {
      const ElementId id = chunk_.tickets[chunk_at_].id;
      T& value = chunk_.values[chunk_at_];
      uint64_t place;
      if (auto error = chunk_.take_error_at(chunk_at_)) {
        writer_.reset();
        place = computed_.put_failure(std::move(error));
      } else {
        try {
          if (writer_) writer_->add(id, [&](std::string& bytes) { codec_.encode(value, bytes); });
        } catch (...) {
          if (planned == 0) throw;
          writer_.reset();
          failure_ = std::current_exception();  // thrown by the next call
          break;
        }
        place = computed_.put(value);
      }
      out[planned] = {id_in_pass(id), 2 * place + 1};
    }
    return planned;
  }

  ElementId id_in_pass(const ElementId& id) const {
    return {nested_epoch(epoch_, id.epoch), id.index};
  }

  FileSystem& file_system_;
  const std::string& path_;  // the node's
  const CacheIdentity identity_;
  const Codec& codec_;  // the node's
  const std::shared_ptr<OpenFiles> open_files_;
  const size_t chunk_size_;
  const std::shared_ptr<FileFingerprints> files_;
  Executor<T> executor_;
  typename Executor<T>::Chunk chunk_;
  size_t chunk_at_ = 0;
  std::shared_ptr<const CacheReader> reader_;  // once it is there, it stays
  std::optional<CacheWriter> writer_;
  ValueStore<T> computed_;
  bool started_ = false;  // this pass
  std::atomic<bool> stopping_ = false;
  std::exception_ptr failure_;
  uint64_t epoch_ = 0;
  uint64_t at_ = 0;
};

template <Element T, CacheCodecOf<T> Codec>
class FileCacheNode final : public UnaryNode<T> {
 public:
  FileCacheNode(std::shared_ptr<const Node<T>> upstream, FileSystem& file_system, std::string path,
                Codec codec)
      : UnaryNode<T>(std::move(upstream)),
        file_system_(file_system),
        path_(std::move(path)),
        codec_(std::move(codec)) {}
  std::unique_ptr<Stage<T>> build_stage(const StageContext& context) const override {
    StageContext own = context;
    own.files = std::make_shared<FileFingerprints>(context.files);
    return std::make_unique<FileCacheStage<T, Codec>>(
        this->upstream().make_stage(own), file_system_, path_,
        CacheIdentity{element_type_name<T>() + " as " + std::string(codec_.name()),
                      this->upstream().describe()},
        codec_, own);
  }

  PlanDescription describe() const override {
    return this->described("cache", {PlanParameter("path", path_).free()});
  }

 private:
  FileSystem& file_system_;
  std::string path_;
  Codec codec_;
};

}  // namespace recordpipe
