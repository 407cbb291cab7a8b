// What is kept of the records for the page while they are read: what is known of all of them, the
// sample that is shown, and their labels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/file.h"
#include "recordpipe/message_view.h"
#include "recordpipe/toolkit/distribution.h"
#include "recordpipe/toolkit/schema_inference.h"

namespace recordpipe {

// How often each of a feature's values came, as long as they are few.
struct ValueCounts {
  static constexpr size_t kMost = 64;         // different values
  static constexpr size_t kLongestText = 60;  // bytes

  std::map<std::string, uint64_t, std::less<>> texts = {};
  std::map<int64_t, uint64_t> integers = {};
  bool too_many = false;  // or too long: nothing is counted

  void add(const FeatureView& feature);

 private:
  void give_up();
};

struct Overview {
  // Of as many features; all others are in the schema alone. A distribution takes up to 128 KiB.
  static constexpr size_t kMostFeatures = 200;
  static constexpr size_t kMostDistributions = 40;

  InferredSchema schema = {};
  std::map<std::string, Distribution, std::less<>> numbers = {};
  std::map<std::string, ValueCounts, std::less<>> values = {};

  // `size` is the record's, in bytes.
  void add(const MessageView& record, size_t size);
};

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

// NAME,NAME,... or a file with a name a line. Throws UsageError where it is neither.
std::vector<std::string> read_label_names(FileSystem& files, const std::string& given);

class Labels {
 public:
  // `feature`: "" for the first of those that labels are usually in.
  Labels(std::string feature, std::vector<std::string> names);

  // "cat", or "3" where it has no name; nothing where the record has no label. Several values are
  // joined by commas.
  std::optional<std::string> label(const MessageView& record);
  // Whether some record had one.
  bool found_any() const { return found_any_; }
  // What `value` is called; null where it has no name.
  const std::string* name(int64_t value) const;
  // The feature that labels come from, said or found; "" as long as it is neither.
  const std::string& feature() const { return feature_; }
  bool feature_was_said() const { return feature_was_said_; }

 private:
  std::string feature_;
  const bool feature_was_said_;
  bool found_any_ = false;
  const std::vector<std::string> names_;
};

}  // namespace recordpipe
