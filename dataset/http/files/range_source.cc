#include "dataset/http/files/range_source.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "dataset/http/files/random_access_file.h"
#include "dataset/http/files/range_request.h"

namespace recordpipe {
namespace {

constexpr size_t kFirstRange = size_t{512} << 10;
constexpr size_t kPrefetched = 4;
constexpr size_t kSmallestRange = size_t{64} << 10;

}  // namespace

struct RangeSource::State {
  // A range that has arrived.
  struct Range {
    std::vector<std::byte> bytes = {};
    uint64_t charged = 0;             // taken from the budget
    std::exception_ptr failure = {};  // after `bytes`
  };
  struct RequestedRange {
    Range range;
    std::unique_ptr<RangeRequest> request;  // fills range.bytes
  };

  State(HttpTarget given_target, const HttpReadOptions& given,
        std::shared_ptr<HttpClient> given_client, std::shared_ptr<ByteBudget> given_budget)
      : target(std::move(given_target)),
        options(given),
        client(std::move(given_client)),
        budget(std::move(given_budget)),
        range_size(std::max<size_t>(given.range_size, 1)),
        ranges_ahead(std::max<size_t>(given.ranges_ahead, 1)) {
    current.bytes.resize(std::min(range_size, kFirstRange));
    first = std::make_unique<RangeRequest>(target, options, *client, 0, current.bytes);
    first->start();
  }
  ~State() {
    for (RequestedRange& requested_range : ahead) give_back(requested_range.range);
    give_back(current);
  }

  void open() {
    first->run();
    version = first->version();
    requested = first->filled();
    first.reset();
    current.bytes.resize(requested);
  }

  void give_back(Range& range) const { budget->give_back(std::exchange(range.charged, 0)); }

  // Requests ranges. The current one counts until it is read. `leave`: bytes of the budget that it
  // doesn't use.
  void request(uint64_t leave = 0) {
    while (requested < version.total && ahead.size() < std::min(depth, ranges_ahead)) {
      const size_t size = std::min<uint64_t>(range_size, version.total - requested);
      const bool is_charged = budget->take(size, leave);
      if (!is_charged && !ahead.empty()) break;
      RequestedRange& last = ahead.emplace_back();
      last.range.charged = is_charged ? size : 0;
      last.range.bytes.resize(size);
      last.request = std::make_unique<RangeRequest>(target, options, *client, requested,
                                                    last.range.bytes, version);
      last.request->start();
      requested += size;
    }
  }

  // Waits for a range.
  static Range received(RequestedRange from) {
    try {
      from.request->run();
    } catch (...) {
      from.range.failure = std::current_exception();
    }
    from.range.bytes.resize(from.request->filled());
    from.request.reset();
    return std::move(from.range);
  }

  size_t read(std::span<std::byte> out) {
    maker.require_this("the reader", target.url.shown());
    if (out.empty()) return 0;
    while (used == current.bytes.size()) {
      if (current.failure) std::rethrow_exception(current.failure);
      give_back(current);
      request();
      if (ahead.empty()) return 0;
      current = {};  // its memory, before that of another one is taken
      current = received(std::move(ahead.front()));
      ahead.pop_front();
      used = 0;
      depth = std::min(2 * depth, ranges_ahead);
      if (!current.failure) request();
    }
    const size_t count = std::min(out.size(), current.bytes.size() - used);
    std::copy_n(current.bytes.begin() + static_cast<std::ptrdiff_t>(used), count, out.begin());
    used += count;
    // In the first range: not for a reader that wants the first bytes only.
    if (ahead.empty() && used > current.bytes.size() / 2) request();
    return count;
  }

  const internal::MakerProcess maker;
  const HttpTarget target;
  const HttpReadOptions options;
  const std::shared_ptr<HttpClient> client;
  const std::shared_ptr<ByteBudget> budget;
  size_t range_size;
  size_t ranges_ahead;
  std::unique_ptr<RangeRequest> first;  // null when the source is open
  RangeVersion version;
  uint64_t requested = 0;  // end of the last range that was requested
  Range current;
  size_t used = 0;  // bytes of `current`
  // The most ranges ahead. Few at first: a reader may want the first records only.
  size_t depth = 2;
  std::deque<RequestedRange> ahead;
};

RangeSource::RangeSource(HttpTarget target, const HttpReadOptions& options,
                         std::shared_ptr<HttpClient> client, std::shared_ptr<ByteBudget> budget)
    : state_(new State(std::move(target), options, std::move(client), std::move(budget))) {}

RangeSource::~RangeSource() = default;

void RangeSource::open() { state_->open(); }

size_t RangeSource::read(std::span<std::byte> out) { return state_->read(out); }

void RangeSource::prefetch() {
  state_->maker.require_this("the reader", path());
  state_->depth = std::max(state_->depth, kPrefetched);
  state_->request(state_->range_size * state_->ranges_ahead);
}

std::unique_ptr<RandomAccessFile> RangeSource::random_access() {
  const State& state = *state_;
  const HttpReadOptions& options = state.options;
  // Many large files may be open: of each, only a window is copied.
  const std::span<const std::byte> first = state.current.bytes;
  const size_t copied =
      first.size() == state.version.total ? first.size() : options.smallest_window;
  return std::make_unique<HttpRandomAccessFile>(state.target, options, state.client, state.version,
                                                first.first(std::min(copied, first.size())));
}

void RangeSource::limit_read_ahead(uint64_t bytes) {
  State& state = *state_;
  state.range_size = static_cast<size_t>(std::max<uint64_t>(
      std::min<uint64_t>(state.range_size, bytes), std::min(kSmallestRange, state.range_size)));
  state.ranges_ahead =
      static_cast<size_t>(std::clamp<uint64_t>(bytes / state.range_size, 1, state.ranges_ahead));
}

const std::string& RangeSource::path() const { return state_->target.url.shown(); }

}  // namespace recordpipe
