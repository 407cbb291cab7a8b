#include "recordpipe/toolkit/external_shuffle.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "recordpipe/base/philox.h"
#include "recordpipe/io/temporary_file.h"
#include "recordpipe/toolkit/record_selection.h"

namespace recordpipe {
namespace {

constexpr uint64_t kShuffleStream = 0x5348'5546'464c'4501;  // the shuffle's random stream
constexpr size_t kMinMemory = size_t{256} << 10;
constexpr int kBucketBits = 8;
constexpr size_t kBuckets = size_t{1} << kBucketBits;

// Precedes a record's data in memory and in temporary files.
struct EntryHeader {
  uint64_t key;
  uint64_t size;
};

struct Entry {
  uint64_t key;
  uint64_t begin;  // of the data
  uint64_t size;
};

size_t total_size(RecordPieces pieces) {
  size_t size = 0;
  for (const auto& piece : pieces) size += piece.size();
  return size;
}

// Stores consecutive records with their keys: the first part in a file, the rest in memory.
class Spool {
 public:
  void append(uint64_t key, RecordPieces pieces) {
    append_header(key, total_size(pieces));
    for (const auto& piece : pieces) append_bytes(piece);
  }
  // Like append(), but writes everything to a file: for records that are too long to be copied to
  // memory first.
  void append_to_file(uint64_t key, RecordPieces pieces, const std::string& directory) {
    append_header(key, total_size(pieces));
    spill(directory);
    for (const auto& piece : pieces) file_->append(piece);
  }
  // Moves the part in memory to a file.
  void spill(const std::string& directory) {
    if (tail_.empty()) return;
    if (!file_) file_.emplace(directory);
    file_->append(std::as_bytes(std::span(tail_)));
    tail_.clear();
    tail_.shrink_to_fit();
  }

  uint64_t count() const { return count_; }
  size_t in_memory() const { return tail_.size(); }
  uint64_t size() const { return in_file() + tail_.size(); }

  // The range must be completely in the file or completely in memory.
  void read_at(uint64_t offset, std::span<std::byte> out) const {
    if (out.empty()) return;  // may be neither in the file nor in memory
    if (offset < in_file()) {
      file_->read_at(offset, out);
    } else {
      std::memcpy(out.data(), tail_.data() + (offset - in_file()), out.size());
    }
  }

  template <typename Visit>
  void for_each_entry(Visit visit) const {
    for (uint64_t at = 0; at < size();) {
      EntryHeader header;
      read_at(at, std::as_writable_bytes(std::span(&header, 1)));
      at += sizeof(header);
      visit(Entry{header.key, at, header.size});
      at += header.size;
    }
  }

  // Loads everything into memory; the caller must check size() first.
  void load() {
    if (!file_) return;
    std::string all(size(), '\0');
    const auto bytes = std::as_writable_bytes(std::span(all));
    file_->read_at(0, bytes.first(in_file()));
    std::memcpy(all.data() + in_file(), tail_.data(), tail_.size());
    file_.reset();
    tail_ = std::move(all);
  }

 private:
  void append_header(uint64_t key, size_t size) {
    const EntryHeader header = {key, size};
    append_bytes(std::as_bytes(std::span(&header, 1)));
    ++count_;
  }
  void append_bytes(std::span<const std::byte> bytes) {
    tail_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  uint64_t in_file() const { return file_ ? file_->size() : 0; }

  std::optional<TemporaryFile> file_;
  std::string tail_;
  uint64_t count_ = 0;
};

// Sorts records by key: in memory while there are few records, otherwise in buckets that the bits
// of the key from `shift` on select.
class SortedRecords {
 public:
  SortedRecords(const ExternalShuffleOptions& options, int shift)
      : options_(options), shift_(shift) {}

  void add(uint64_t key, RecordPieces pieces) {
    if (buckets_.empty() && few_.size() + total_size(pieces) > options_.memory / 2) deal();
    if (buckets_.empty()) {
      few_.append(key, pieces);
    } else {
      add_to_bucket(key, pieces);
    }
  }

  template <typename Visit>
  void drain(const Visit& visit) {
    for (Spool& bucket : buckets_) bucket.spill(options_.directory);
    for (Spool& bucket : buckets_) {
      Spool full = std::exchange(bucket, {});
      if (full.count() > options_.memory / 2 / sizeof(Entry) && shift_ > 0) {
        drain_large(full, visit);
      } else {
        drain_sorted(full, visit);
      }
    }
    drain_sorted(few_, visit);
  }

 private:
  void deal() {
    buckets_.resize(kBuckets);
    move_all(std::exchange(few_, {}), *this);
  }

  void add_to_bucket(uint64_t key, RecordPieces pieces) {
    Spool& bucket = buckets_[(key >> shift_) % kBuckets];
    const size_t most = options_.memory / 2 / kBuckets;
    if (total_size(pieces) > most) {
      bucket.append_to_file(key, pieces, options_.directory);
    } else {
      bucket.append(key, pieces);
      if (bucket.in_memory() > most) bucket.spill(options_.directory);
    }
  }

  static void move_all(const Spool& from, SortedRecords& to) {
    std::vector<std::byte> data;
    from.for_each_entry([&](const Entry& entry) {
      data.resize(entry.size);
      from.read_at(entry.begin, data);
      const std::span<const std::byte> all(data);
      to.add(entry.key, RecordPieces(&all, 1));
    });
  }

  template <typename Visit>
  void drain_large(Spool& bucket, const Visit& visit) {
    SortedRecords parts(options_, shift_ - kBucketBits);
    move_all(std::exchange(bucket, {}), parts);
    parts.drain(visit);
  }

  template <typename Visit>
  void drain_sorted(Spool& bucket, const Visit& visit) {
    if (bucket.size() <= options_.memory / 2) bucket.load();
    std::vector<Entry> entries;
    entries.reserve(bucket.count());
    bucket.for_each_entry([&](const Entry& entry) { entries.push_back(entry); });
    // Records with equal keys (probability 2^-64 per pair) keep the order in which they were added.
    std::ranges::stable_sort(entries, {}, &Entry::key);
    std::vector<std::byte> data;
    for (const Entry& entry : entries) {
      data.resize(entry.size);
      bucket.read_at(entry.begin, data);
      visit(std::span<const std::byte>(data));
    }
  }

  const ExternalShuffleOptions& options_;
  const int shift_;
  Spool few_;
  std::vector<Spool> buckets_;
};

}  // namespace

struct ExternalShuffle::State {
  explicit State(ExternalShuffleOptions wanted)
      : options(std::move(wanted)),
        key(derive_key(options.seed, kShuffleStream)),
        records(options, 64 - kBucketBits) {
    options.memory = std::max(options.memory, kMinMemory);
  }

  ExternalShuffleOptions options;
  const uint64_t key;
  uint64_t count = 0;
  SortedRecords records;
};

ExternalShuffle::ExternalShuffle(ExternalShuffleOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}

ExternalShuffle::~ExternalShuffle() = default;
ExternalShuffle::ExternalShuffle(ExternalShuffle&&) noexcept = default;
ExternalShuffle& ExternalShuffle::operator=(ExternalShuffle&&) noexcept = default;

void ExternalShuffle::add(std::span<const std::span<const std::byte>> pieces) {
  state_->records.add(Random(state_->key, 0, state_->count).next64(), pieces);
  ++state_->count;
}

uint64_t ExternalShuffle::size() const { return state_->count; }

void ExternalShuffle::drain(const std::function<void(std::span<const std::byte> data)>& visit) {
  state_->records.drain(visit);
}

}  // namespace recordpipe
