#include "dataset/toolkit/files/salvage_ahead.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "dataset/base/available_cpus.h"
#include "dataset/parallel/jobs.h"
#include "dataset/record/record_framing.h"
#include "dataset/toolkit/files/many_files.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxFound = size_t{32} << 20;   // of all files together
constexpr size_t kMinFound = size_t{256} << 10;  // of each file
// The sizes of pieces: each is handed over to a thread that may have to be woken for it.
constexpr size_t kMinPiece = size_t{128} << 10;
constexpr size_t kMaxPiece = size_t{512} << 10;
// The memory of a region: with its text.
constexpr size_t kRegion = 512;

// Intact records, or a part of them; `records` end in it.
struct Piece {
  std::vector<std::byte> framed = {};
  uint64_t records = 0;
};

// The consumer wants no more.
struct Abandoned {};

// What the scan of a file has found and its consumer has not taken yet, in order.
class FoundAhead {
 public:
  using Found = std::variant<Compression, Piece, DamagedRegion>;

  explicit FoundAhead(size_t most) : max_(most) {}

  // Waits while there is no room. Throws Abandoned.
  void put(Found found, size_t memory) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return bytes_ < max_ || abandoned_; });
    if (abandoned_) throw Abandoned();
    bytes_ += memory;
    found_.push_back({std::move(found), memory});
    changed_.notify_all();
  }
  void end(const ScanTotals& totals) {
    const std::lock_guard lock(mutex_);
    totals_ = totals;
    changed_.notify_all();
  }
  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(failure);
    changed_.notify_all();
  }

  // Waits for the next; nullopt at the end. Throws the failure of the scan.
  std::optional<Found> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !found_.empty() || totals_ || failure_; });
    if (!found_.empty()) {
      Held held = std::move(found_.front());
      found_.pop_front();
      bytes_ -= held.memory;
      changed_.notify_all();
      return std::move(held.found);
    }
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return std::nullopt;
  }
  const ScanTotals& totals() const { return *totals_; }  // after the end
  // With one thread for each of many files, there is little room for each.
  size_t piece_size() const { return std::clamp(max_ / 8, kMinPiece, kMaxPiece); }
  void abandon() {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    changed_.notify_all();
  }

 private:
  struct Held {
    Found found;
    size_t memory;
  };

  const size_t max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Held> found_;
  size_t bytes_ = 0;
  std::optional<ScanTotals> totals_;
  std::exception_ptr failure_;
  bool abandoned_ = false;
};

// Collects short runs of records before they are put.
class PieceCollector {
 public:
  explicit PieceCollector(FoundAhead& found) : found_(found), size_(found.piece_size()) {}

  void add(std::span<const std::byte> framed, uint64_t records) {
    while (!framed.empty()) {
      const auto part = framed.first(std::min(framed.size(), size_ - piece_.framed.size()));
      framed = framed.subspan(part.size());
      piece_.framed.insert(piece_.framed.end(), part.begin(), part.end());
      if (framed.empty()) piece_.records += records;
      if (piece_.framed.size() == size_) flush();
    }
  }
  void flush() {
    if (piece_.framed.empty()) return;
    const size_t memory = piece_.framed.capacity();
    found_.put(std::exchange(piece_, {}), memory);
  }

 private:
  FoundAhead& found_;
  const size_t size_;
  Piece piece_;
};

void scan_ahead(const FileWork& work, const std::string& path, const RecordReadOptions& reading,
                const InputStatus& status, FoundAhead& found) {
  try {
    PieceCollector pieces(found);
    const ScanSinks sinks = {
        .opened = [&](Compression compression) { found.put(compression, 0); },
        .intact = [&](auto framed, uint64_t count) { pieces.add(framed, count); },
        .damaged =
            [&](const DamagedRegion& region) {
              pieces.flush();
              found.put(region, kRegion);
            }};
    std::optional<ScanTotals> totals;
    try {
      totals = scan_file(work, path, reading, 1, sinks, status);
    } catch (const Error&) {
      pieces.flush();  // what came before the error is saved, too
      throw;
    }
    pieces.flush();
    found.end(*totals);
  } catch (const Abandoned&) {
    return;
  } catch (...) {
    found.fail(std::current_exception());
  }
}

}  // namespace

struct SalvageAhead::State {
  struct Scan {
    FileTurn turn;
    std::shared_ptr<FoundAhead> found = nullptr;  // null: at its turn
    parallel::Job<void> job = {};
  };

  const FileWork& work;
  const std::vector<std::string>& paths;
  const RecordReadOptions reading;
  const size_t threads;
  const bool is_ahead;
  const size_t max_scans;  // begun ahead
  std::deque<Scan> scans = {};
  size_t begun = 0;
  size_t taken = 0;
  parallel::Jobs jobs;  // last: ends before its jobs' data is destroyed

  void begin_scans() {
    const size_t most = std::max(kMinFound, kMaxFound / max_scans);
    for (; begun < paths.size() && scans.size() < max_scans; ++begun) {
      const std::string& path = paths[begun];
      Scan scan = {turn_of_content(work, path)};
      if (is_ahead && !scan.turn.is_alone) {
        scan.found = std::make_shared<FoundAhead>(most);
        scan.job = jobs.submit([this, &path, status = scan.turn.status, found = scan.found] {
          scan_ahead(work, path, reading, status, *found);
        });
      }
      scans.push_back(std::move(scan));
    }
  }
};

SalvageAhead::SalvageAhead(const FileWork& work, const std::vector<std::string>& paths,
                           const RecordReadOptions& reading, size_t threads) {
  const size_t count = thread_count(threads);
  const bool is_ahead = count > 1 && paths.size() > 1;
  state_.reset(new State{.work = work,
                         .paths = paths,
                         .reading = reading,
                         .threads = count,
                         .is_ahead = is_ahead,
                         .max_scans = is_ahead ? 2 * count + 1 : 1,
                         // A scan waits while what it has found is not taken.
                         .jobs = parallel::Jobs(is_ahead ? std::min(count - 1, paths.size()) : 1,
                                                parallel::CrewKind::waits)});
}

SalvageAhead::~SalvageAhead() {
  for (const State::Scan& scan : state_->scans) {
    if (scan.found) scan.found->abandon();
  }
}

ScanTotals SalvageAhead::next(const ScanSinks& sinks, RecordWriter& writer) {
  State& state = *state_;
  state.begin_scans();
  const std::string& path = state.paths[state.taken++];
  State::Scan& scan = state.scans.front();
  if (!scan.found || scan.job.drop()) {
    const InputStatus status = scan.turn.status;
    state.scans.pop_front();
    return salvage_file(state.work, path, state.reading, state.threads, sinks, writer, status);
  }
  while (const auto found = scan.found->take()) {
    if (const auto* piece = std::get_if<Piece>(&*found)) {
      writer.write_framed(piece->framed, piece->records);
      if (sinks.intact) sinks.intact(piece->framed, piece->records);
    } else if (const auto* region = std::get_if<DamagedRegion>(&*found)) {
      sinks.damaged(*region);
    } else if (sinks.opened) {
      sinks.opened(std::get<Compression>(*found));
    }
  }
  const ScanTotals totals = scan.found->totals();
  state.scans.pop_front();
  if (totals.cut) throw cut_while_mapped(path, totals.bytes);
  return totals;
}

}  // namespace recordpipe
