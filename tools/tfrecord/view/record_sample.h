// Some of very many records, in bounded memory: the first ones, or ones evenly spread over all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recordpipe {

enum class Sampling {
  first,   // as many as there is room for
  spread,  // as many as are wanted, from beginning to end
};

// Keeps texts, one a record, in order.
//
// Spread: while records come, every 2^k-th is kept, for the smallest k that gives at most twice as
// many as are wanted, and no more bytes than there is room for. Of those, as many as are wanted are
// the sample, at even distances. So it is as many as are wanted, if there are so many records, or
// takes at least about half of the room.
class RecordSample {
 public:
  RecordSample(Sampling sampling, size_t most_records, size_t most_bytes)
      : sampling_(sampling), most_records_(most_records), most_bytes_(most_bytes) {}

  // Whether more records are of use: what reads them may stop.
  bool is_full() const { return full_; }
  // Whether the next record is wanted; if it isn't, it is passed over.
  bool wants_next() {
    if (!full_ && seen_ % stride_ == 0) return true;
    ++seen_;
    return false;
  }
  // The next record's, which was wanted.
  void add(std::string text) {
    ++seen_;
    if (sampling_ == Sampling::first && bytes_ + text.size() > most_bytes_ && !kept_.empty()) {
      full_ = true;
      return;
    }
    bytes_ += text.size();
    kept_.push_back(std::move(text));
    if (sampling_ == Sampling::first) {
      full_ = kept_.size() >= most_records_ || bytes_ >= most_bytes_;
    } else {
      while (kept_.size() > 1 && (kept_.size() > 2 * most_records_ || bytes_ > most_bytes_)) thin();
    }
  }

  // How many records are in the sample.
  size_t size() const { return std::min(kept_.size(), most_records_); }
  // Whether there are fewer than are wanted because no more had room.
  bool lacks_room() const {
    const bool has_more = sampling_ == Sampling::first ? full_ : size() < seen_;
    return has_more && size() < most_records_;
  }
  // Valid as long as nothing is added.
  std::vector<std::string_view> texts() const {
    std::vector<std::string_view> texts(size());
    for (size_t i = 0; i < texts.size(); ++i) texts[i] = kept_[i * kept_.size() / texts.size()];
    return texts;
  }

 private:
  void thin() {
    stride_ *= 2;
    bytes_ = 0;
    size_t kept = 0;
    for (size_t i = 0; i < kept_.size(); i += 2) {
      bytes_ += kept_[i].size();
      if (kept != i) kept_[kept] = std::move(kept_[i]);
      ++kept;
    }
    kept_.resize(kept);
  }

  const Sampling sampling_;
  const size_t most_records_;
  const size_t most_bytes_;
  std::vector<std::string> kept_;
  size_t bytes_ = 0;
  uint64_t seen_ = 0;
  uint64_t stride_ = 1;
  bool full_ = false;
};

}  // namespace recordpipe
