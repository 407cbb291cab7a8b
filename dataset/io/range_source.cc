#include "dataset/io/range_source.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <utility>

#include "dataset/io/windowed_file.h"

namespace recordpipe {
namespace {

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
  struct Ahead {
    std::unique_ptr<RequestedRange> range;
    uint64_t charged;
  };

  State(std::shared_ptr<const RangedFile> given_file, const RangeOptions& given,
        std::shared_ptr<ByteBudget> given_budget, std::vector<std::byte> first)
      : file(std::move(given_file)),
        options(given),
        budget(std::move(given_budget)),
        next_size(std::max<size_t>(given.second_range, 1)),
        range_size(std::max<size_t>(given.range_size, 1)),
        ranges_ahead(std::max<size_t>(given.ranges_ahead, 1)),
        requested(first.size()),
        current{.bytes = std::move(first)} {}
  ~State() {
    for (const Ahead& range : ahead) budget->give_back(range.charged);
    budget->give_back(current.charged);
  }

  // Requests ranges. The current one counts until it is read. `leave`: bytes of the budget that it
  // doesn't use.
  void request(uint64_t leave = 0) {
    while (requested < file->size() && ahead.size() < std::min(depth, ranges_ahead)) {
      next_size = std::min(next_size, range_size);
      const size_t size = std::min<uint64_t>(next_size, file->size() - requested);
      const bool is_charged = budget->take(size, leave);
      if (!is_charged && !ahead.empty()) break;
      ahead.push_back({file->request(requested, size), is_charged ? size : 0});
      requested += size;
      next_size *= 2;
    }
  }

  // Waits for a range.
  static Range received(Ahead from) {
    Range range{.charged = from.charged};
    try {
      from.range->receive();
    } catch (...) {
      range.failure = std::current_exception();
    }
    range.bytes = std::move(from.range->bytes);
    return range;
  }

  size_t read(std::span<std::byte> out) {
    maker.require_this("the reader", file->path());
    if (out.empty()) return 0;
    while (used == current.bytes.size()) {
      if (current.failure) std::rethrow_exception(current.failure);
      budget->give_back(std::exchange(current.charged, 0));
      request();
      if (ahead.empty()) {
        if (!std::exchange(is_checked, true)) file->check_unchanged();
        return 0;
      }
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
  const std::shared_ptr<const RangedFile> file;
  const RangeOptions options;
  const std::shared_ptr<ByteBudget> budget;
  size_t next_size;
  size_t range_size;
  size_t ranges_ahead;
  uint64_t requested;  // end of the last range that was requested
  Range current;
  size_t used = 0;  // bytes of `current`
  bool is_checked = false;
  // The most ranges ahead. Few at first: a reader may want the first records only.
  size_t depth = 2;
  std::deque<Ahead> ahead;
};

RangeSource::RangeSource(std::shared_ptr<const RangedFile> file, const RangeOptions& options,
                         std::shared_ptr<ByteBudget> budget, std::vector<std::byte> first)
    : state_(new State(std::move(file), options, std::move(budget), std::move(first))) {}

RangeSource::~RangeSource() = default;

size_t RangeSource::read(std::span<std::byte> out) { return state_->read(out); }

void RangeSource::prefetch() {
  state_->maker.require_this("the reader", path());
  state_->depth = std::max(state_->depth, kPrefetched);
  state_->request(state_->range_size * state_->ranges_ahead);
}

std::unique_ptr<RandomAccessFile> RangeSource::random_access() {
  const auto& file = state_->file;
  const RangeOptions& options = state_->options;
  const std::span<const std::byte> first = state_->current.bytes;
  // Many large files may be open: of each, only a window is copied.
  const size_t copied = first.size() == file->size() ? first.size() : options.smallest_window;
  const auto window = first.first(std::min(copied, first.size()));
  return std::make_unique<WindowedFile>(file, options, std::vector(window.begin(), window.end()));
}

void RangeSource::limit_read_ahead(uint64_t bytes) {
  State& state = *state_;
  state.range_size = static_cast<size_t>(std::max<uint64_t>(
      std::min<uint64_t>(state.range_size, bytes), std::min(kSmallestRange, state.range_size)));
  state.ranges_ahead =
      static_cast<size_t>(std::clamp<uint64_t>(bytes / state.range_size, 1, state.ranges_ahead));
}

const std::string& RangeSource::path() const { return state_->file->path(); }

}  // namespace recordpipe
