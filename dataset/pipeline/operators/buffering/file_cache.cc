// cache(path): keeps the elements of a complete pass in a file for later passes and runs.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <cxxabi.h>

#include "dataset/pipeline/execute/chunk_reader.h"
#include "dataset/pipeline/execute/value_store.h"
#include "dataset/pipeline/operators/buffering/cache_file.h"
#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/open_files.h"
#include "dataset/pipeline/state/file_fingerprints.h"
#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/internal/element_type_name.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {
namespace {

// The ref of a ticket: 2 * i for element i of the file, 2 * i + 1 for value i of the computed
// elements.
bool is_stored(const Ticket& ticket) { return ticket.ref % 2 == 0; }
uint64_t place_of(const Ticket& ticket) { return ticket.ref / 2; }

// State shared by the plan, the work and the producers.
struct FileCache {
  FileCache(const ElementOps& element, const ElementCodec& c) : codec(c), computed(element) {}

  const ElementCodec& codec;                  // owned by the node
  std::shared_ptr<const CacheReader> reader;  // once it is set, it stays
  ValueStore computed;
};

class FileCacheProducer final : public Producer {
 public:
  explicit FileCacheProducer(FileCache& cache) : cache_(cache) {}

 protected:
  Failures do_produce(std::span<const Ticket> tickets, void* out) override {
    Failures failures;
    for (size_t i = 0; i < tickets.size(); ++i) {
      void* const value = element_at(out, cache_.computed.ops(), i);
      try {
        if (is_stored(tickets[i])) {
          cache_.codec.decode(cache_.reader->read(place_of(tickets[i])), value);
          continue;
        }
        const Ticket kept{tickets[i].id, place_of(tickets[i])};
        Failures failed = cache_.computed.take({&kept, 1}, value);
        if (!failed.empty()) failures.push_back({i, std::move(failed[0].error)});
      } catch (...) {
        failures.push_back({i, std::current_exception()});
      }
    }
    return failures;
  }

 private:
  FileCache& cache_;
};

// Order, epochs and random numbers are the same as in memory (cache.cc). A pass that finds the file
// reads it. Otherwise, the pass computes its elements, always those of epoch 0, and writes the
// file, which appears, complete, at the end of the pass. A pass makes no file if it is abandoned,
// is restored to its middle, has a failing element (as in tf.data), or finds another process or
// iterator writing the file; the next pass looks for the file again.
//
// recordpipe/pipeline/cache.h says which files are refused.
//
// Saved state: the number of elements that this pass has returned.
class FileCachePlan final : public Plan {
 public:
  FileCachePlan(Stage input, FileSystem& file_system, const std::string& path,
                CacheIdentity identity, std::shared_ptr<FileCache> cache,
                const StageContext& context)  // context.files: the files of `input`
      : file_system_(file_system),
        path_(path),
        identity_(std::move(identity)),
        cache_(std::move(cache)),
        open_files_(context.open_files),
        files_(context.files),
        input_(std::move(input), context) {}

  void discard(std::span<const Ticket> tickets) override {
    for (const Ticket& ticket : tickets) {
      if (is_stored(ticket)) continue;
      const Ticket kept{ticket.id, place_of(ticket)};
      cache_->computed.discard({&kept, 1});
    }
  }

  void save(PlanState& state) const override { state.reset(0).numbers = {at_}; }

 protected:
  void charge_to(const std::shared_ptr<MemoryAccount>& account) override {
    cache_->computed.charge_to(account);
  }

  Stop do_plan(TicketSink& out, Wait) override {
    try {
      if (!started_) start(0);
      return cache_->reader ? plan_stored(out) : plan_computed(out);
    } catch (...) {
      writer_.reset();
      throw;
    }
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    if (started_ || at_ > 0) return Plan::do_advance(count, passed);
    try {
      start(count);
    } catch (...) {
      passed = at_;
      throw;
    }
    passed = at_;
    return passed < count ? end_or_stop() : Stop::none;
  }

  void do_restart(Epoch epoch) override {
    writer_.reset();
    started_ = false;
    epoch_ = epoch.ids;
    at_ = 0;
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    const uint64_t at = PlanNumbers(state, 0).next();
    do_restart(epoch);
    if (at == 0) return;
    start(at);
    if (at_ < at) fail_state();
  }

  void do_request_stop() override { input_.request_stop(); }

 private:
  // Begins a pass at `place`, from the file if it exists. Sets at_ to the position reached.
  void start(uint64_t place) {
    started_ = true;
    std::shared_ptr<const CacheReader>& reader = cache_->reader;
    if (!reader && file_system_.status(path_)) {
      // Taken before the file is opened: if the file is replaced in between, the version doesn't
      // match other readers.
      std::string version =
          open_files_ ? version_of(path_, *file_system_.open_random(path_)) : std::string();
      reader = std::make_shared<const CacheReader>(file_system_, path_, identity_);
      if (open_files_) {
        reader = open_files_->keep(file_system_, path_, std::move(version), std::move(reader));
      }
    }
    if (reader) {
      at_ = std::min(place, reader->size());
      return;
    }
    input_.restart(/*epoch=*/0);
    if (is_stopping()) input_.request_stop();
    if (place > 0) {
      input_.advance(place, at_);
      return;
    }
    try {
      writer_.emplace(file_system_, path_, identity_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::busy) throw;
    }
  }

  Stop plan_stored(TicketSink& out) {
    const CacheReader& reader = *cache_->reader;
    for (; !out.is_full() && at_ < reader.size(); ++at_) {
      out.push({id_in_pass(reader.id(at_)), 2 * at_});
    }
    return at_ == reader.size() ? Stop::end : Stop::none;
  }

  Stop plan_computed(TicketSink& out) {
    if (!input_.fetch()) {
      if (is_stopping()) return Stop::requested;
      if (writer_) {
        writer_->finish(*files_);
        writer_.reset();
      }
      return Stop::end;
    }
    for (; input_.is_at_hand() && !out.is_full(); input_.pass(), ++at_) {
      const ElementId id = input_.id();
      uint64_t place;
      if (auto error = input_.take_error()) {
        writer_.reset();
        place = cache_->computed.put_failure(std::move(error));
      } else {
        if (writer_) {
          writer_->add(id,
                       [&](std::string& bytes) { cache_->codec.encode(input_.value(), bytes); });
        }
        place = cache_->computed.put(input_.value());
      }
      out.push({id_in_pass(id), 2 * place + 1});
    }
    return Stop::none;
  }

  ElementId id_in_pass(const ElementId& id) const {
    return {nested_epoch(epoch_, id.epoch), id.index};
  }

  FileSystem& file_system_;
  const std::string& path_;  // owned by the node
  const CacheIdentity identity_;
  const std::shared_ptr<FileCache> cache_;
  const std::shared_ptr<OpenFiles> open_files_;
  const std::shared_ptr<FileFingerprints> files_;
  ChunkReader input_;
  std::optional<CacheWriter> writer_;
  bool started_ = false;  // of this pass
  uint64_t epoch_ = 0;
  uint64_t at_ = 0;
};

class FileCacheNode final : public UnaryNode {
 public:
  FileCacheNode(NodePtr input, FileSystem& file_system, std::string path,
                std::unique_ptr<const ElementCodec> codec)
      : UnaryNode(std::move(input)),
        file_system_(file_system),
        path_(std::move(path)),
        codec_(std::move(codec)) {}
  Cardinality cardinality() const override { return input().cardinality(); }

 protected:
  PlanDescription describe_operator() const override {
    return {"cache", {PlanParameter("path", path_).free()}};
  }
  Stage build_stage(const StageContext& context) const override {
    StageContext own = context;
    own.files = std::make_shared<FileFingerprints>(context.files);
    Stage stage = input().make_stage(own);
    const size_t chunk_size = stage.chunk_size;
    auto cache = std::make_shared<FileCache>(element(), *codec_);
    auto plan = std::make_unique<FileCachePlan>(std::move(stage), file_system_, path_,
                                                CacheIdentity{codec_->name(), input().describe()},
                                                cache, own);
    auto work = std::make_shared<Work>(element(), /*is_heavy=*/true, [cache = std::move(cache)] {
      return std::make_unique<FileCacheProducer>(*cache);
    });
    return {std::move(plan), std::move(work), chunk_size};
  }

 private:
  FileSystem& file_system_;
  std::string path_;
  std::unique_ptr<const ElementCodec> codec_;
};

}  // namespace

std::string name_of(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return name ? name.get() : type.name();
}

NodePtr file_cache(NodePtr input, FileSystem& file_system, std::string path,
                   std::unique_ptr<const ElementCodec> codec) {
  return std::make_shared<FileCacheNode>(std::move(input), file_system, std::move(path),
                                         std::move(codec));
}

}  // namespace recordpipe::internal
