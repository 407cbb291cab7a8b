#include "dataset/pipeline/operators/sources/record_plan.h"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "dataset/pipeline/execute/value_store.h"
#include "dataset/pipeline/operators/sources/record_stream.h"
#include "dataset/pipeline/state/file_fingerprints.h"

namespace recordpipe::internal {
namespace {

// Reads records by index from files that are mapped or read by ranges, and in sequence from
// streams.
class RecordPlan final : public Plan {
 public:
  explicit RecordPlan(RecordFiles files)
      : files_(std::move(files)),
        paths_(files_.paths),
        fingerprints_(*files_.context.files),
        random_(files_.opened->mapped),
        store_(files_.opened->streamed) {}
  // What is being opened ahead ends soon.
  ~RecordPlan() override { files_.opened->stop.request(); }

  uint64_t size() override {
    while (ends_.size() < paths_.size()) {
      const size_t number = ends_.size();
      const uint64_t records =
          files_.counts.empty() ? random_file(number).size() : files_.counts[number];
      ends_.push_back((number == 0 ? 0 : ends_.back()) + records);
    }
    return ends_.empty() ? 0 : ends_.back();
  }

  uint64_t count() {
    uint64_t total = 0;
    for (size_t number = 0; number < paths_.size(); ++number) {
      total += random_file(number).size();
      random_[number].reset();
    }
    return total;
  }

  void save(PlanState& state) const override { state.reset(0).numbers = {file_, record_, index_}; }

  void discard(std::span<const Ticket> tickets) override {
    const auto is_mapped = [](const Ticket& ticket) { return RecordRef{ticket.ref}.is_mapped(); };
    for (auto at = tickets.begin(); at != tickets.end();) {
      const auto first = std::find_if_not(at, tickets.end(), is_mapped);
      at = std::find_if(first, tickets.end(), is_mapped);
      store_.discard({first, at});
    }
  }

 protected:
  void charge_to(const std::shared_ptr<MemoryAccount>& account) override {
    store_.charge_to(account);
  }

  Stop do_plan(TicketSink& out, Wait) override {
    for (; file_ < paths_.size(); close()) {
      open();
      if (stream_) {
        plan_stream(out);
      } else {
        plan_random(out);
      }
      if (out.count() > 0) return Stop::none;
    }
    return Stop::end;
  }

  Stop do_advance(uint64_t count, uint64_t& passed) override {
    for (; file_ < paths_.size(); close()) {
      open();
      pass_over(count, passed);
      if (passed == count) return Stop::none;
      if (is_stopping()) return Stop::requested;
    }
    return Stop::end;
  }

  void do_tickets_at(std::span<const uint64_t> places, std::span<Ticket> out) override {
    for (size_t i = 0; i < places.size(); ++i) {
      const auto end = std::ranges::upper_bound(ends_, places[i]);
      const auto number = static_cast<uint64_t>(end - ends_.begin());
      const uint64_t record = places[i] - (number == 0 ? 0 : ends_[number - 1]);
      if (!random_[number]) random_file(number);  // size() knew its number of records
      out[i] = {{epoch_, places[i]}, RecordRef::of_mapped(number, record).ref};
    }
  }

  void do_restart(Epoch epoch) override {
    stream_.reset();
    // After a stop request, what is being opened stays stopped.
    streams_.reset();
    opener_.emplace(files_);
    opened_ = false;
    file_ = record_ = 0;
    index_ = 0;
    epoch_ = epoch.ids;
    files_.opened->stop.withdraw();
    if (is_stopping()) do_request_stop();  // the request may have come before withdraw()
  }

  void do_restore(const PlanState& state, Epoch epoch) override {
    PlanNumbers numbers(state, 0);
    do_restart(epoch);
    file_ = numbers.next(paths_.size());
    const uint64_t record = numbers.next();
    const uint64_t index = numbers.next();
    if (record > 0) {
      if (file_ == paths_.size()) fail_state();
      open();
      uint64_t passed = 0;
      pass_over(record, passed);
      if (passed < record) fail_state();
    }
    index_ = index;
  }

  void do_request_stop() override { files_.opened->stop.request(); }

 private:
  // Opens the current file: maps it, once for all passes, or opens a stream at its start.
  void open() {
    if (opened_) return;
    try {
      if (files_.damage.on_damage == OnDamage::raise && !random_[file_]) {
        if (OpenRecordFilePtr file = opener_->map_if_plain(file_)) keep(file_, std::move(file));
      }
      if (random_[file_]) {
        opener_->open_ahead(file_ + 1, Access::sequential);
      } else if (auto plain = map_for_scan(files_, file_)) {
        fingerprints_.opened(files_.file_system, paths_[file_]);
        stream_.emplace(files_, file_, std::move(plain));
      } else {
        if (!streams_) streams_.emplace(files_);
        stream_.emplace(files_, file_, streams_->open(file_));
      }
    } catch (const Error& error) {
      // A stop says nothing about the file. restore() stops the threads of the pass before it while
      // the files are compared with the state.
      if (error.kind() != ErrorKind::cancelled) fingerprints_.failed_to_open(paths_[file_]);
      throw;
    }
    opened_ = true;
  }

  // Opens the file for random access.
  const MappedRecordFile& random_file(size_t number) {
    // The files at a distance before it is waited for.
    opener_->open_ahead(number + 1, Access::random);
    if (!random_[number]) keep(number, opener_->open(number));
    return random_[number]->file;
  }

  void keep(size_t number, OpenRecordFilePtr file) {
    const auto& counts = files_.counts;
    if (!counts.empty() && counts[number] != file->file.size()) {
      throw Error({.kind = ErrorKind::corrupted,
                   .path = paths_[number],
                   .reason = std::to_string(file->file.size()) + " records, where " +
                             std::to_string(counts[number]) + " are expected",
                   .hint = "the file is not complete, or is one of another version"});
    }
    fingerprints_.opened(files_.file_system, paths_[number], file->fingerprint);
    random_[number] = std::move(file);
  }

  // Skips records of the current file until `passed` is `wanted`, or the file ends.
  void pass_over(uint64_t wanted, uint64_t& passed) {
    const auto pass = [&](uint64_t count) {
      record_ += count;
      index_ += count;
      passed += count;
    };
    if (stream_) {
      while (passed < wanted && !is_stopping() && pass_over_one()) pass(1);
    } else {
      pass(std::min<uint64_t>(wanted - passed, random_[file_]->file.size() - record_));
    }
  }

  // As in a mapped file, a record that is passed over may be damaged. Returns false at the end.
  bool pass_over_one() {
    try {
      return stream_->read().has_value();
    } catch (const Error&) {
      if (!stream_->reads_on()) throw;
      return true;
    }
  }

  void close() {
    stream_.reset();
    opened_ = false;
    record_ = 0;
    ++file_;
  }

  void plan_random(TicketSink& out) {
    const size_t size = random_[file_]->file.size();
    for (; !out.is_full() && record_ < size; ++record_) {
      out.push({{epoch_, index_++}, RecordRef::of_mapped(file_, record_).ref});
    }
  }

  void plan_stream(TicketSink& out) {
    do {
      const std::optional<uint64_t> ref = put_next_of_stream();
      if (!ref) return;
      out.push({{epoch_, index_++}, *ref});
      ++record_;
    } while (!out.is_full() && !is_stopping());
  }

  // Stores the next record, or its failure if the stream has more records; nullopt at the end.
  std::optional<uint64_t> put_next_of_stream() {
    try {
      const std::optional<Record> record = stream_->read();
      if (!record) return std::nullopt;
      Record kept = keep_record(*record, stream_->path());
      kept.number = record_;
      return store_.put(&kept);
    } catch (const Error&) {
      if (!stream_->reads_on()) throw;
      return store_.put_failure(std::current_exception());
    }
  }

  const RecordFiles files_;
  const std::vector<std::string>& paths_;
  FileFingerprints& fingerprints_;
  MappedFiles& random_;
  ValueStore& store_;
  std::optional<RandomOpener> opener_{files_};
  std::optional<StreamOpener> streams_;
  std::vector<uint64_t> ends_;  // number of records up to the end of each file
  std::optional<RecordStream> stream_;
  bool opened_ = false;
  uint64_t file_ = 0;
  uint64_t record_ = 0;  // in the current file
  uint64_t index_ = 0;
  uint64_t epoch_ = 0;
};

}  // namespace

std::unique_ptr<Plan> make_record_plan(RecordFiles files) {
  return std::make_unique<RecordPlan>(std::move(files));
}

uint64_t count_records(RecordFiles files) { return RecordPlan(std::move(files)).count(); }

}  // namespace recordpipe::internal
