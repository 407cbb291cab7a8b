// Collects the data that the page needs from the records: totals over all records, the sample that
// is shown, and labels.
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

#include "recordpipe/example/message_view.h"
#include "recordpipe/io/file.h"
#include "recordpipe/toolkit/distribution.h"
#include "recordpipe/toolkit/schema_inference.h"

namespace recordpipe {

// Counts a feature's distinct values, as long as they are few.
struct ValueCounts {
  static constexpr size_t kMax = 64;          // distinct values
  static constexpr size_t kLongestText = 60;  // bytes

  std::map<std::string, uint64_t, std::less<>> texts = {};
  std::map<int64_t, uint64_t> integers = {};
  bool too_many = false;  // or too long, or not text; the counts are dropped

  void add(const FeatureView& feature);

 private:
  void give_up();
};

struct Overview {
  // Limits on the number of features; further features are only in the schema. A distribution takes
  // up to 128 KiB.
  static constexpr size_t kMaxFeatures = 200;
  static constexpr size_t kMaxDistributions = 40;

  InferredSchema schema = {};
  Distribution sizes{4096, 4608};  // of the records, in bytes
  std::map<std::string, Distribution, std::less<>> numbers = {};
  std::map<std::string, ValueCounts, std::less<>> values = {};

  // `size` is the record's size in bytes.
  void add(const MessageView& record, size_t size);
};

enum class Sampling {
  first,   // the first records, as many as fit
  spread,  // the wanted number, spread over all records
};

// Keeps a sample of texts, one per record, in order.
//
// Spread: keeps every 2^k-th record, for the smallest k that gives at most twice the wanted number
// and no more bytes than the limit. Of these records, texts() selects the wanted number at equal
// distances. So the sample has the wanted size if there are enough records, or takes at least about
// half of the byte limit.
class RecordSample {
 public:
  RecordSample(Sampling sampling, size_t max_records, size_t max_bytes)
      : sampling_(sampling), max_records_(max_records), max_bytes_(max_bytes) {}

  // Whether no more records are needed: reading may stop.
  bool is_full() const { return full_; }
  // Returns whether the next record is wanted; if it is not, skips it.
  bool wants_next() {
    if (!full_ && seen_ % stride_ == 0) return true;
    ++seen_;
    return false;
  }
  // Adds the next record's text; wants_next() must have returned true.
  void add(std::string text) {
    ++seen_;
    if (sampling_ == Sampling::first && bytes_ + text.size() > max_bytes_ && !kept_.empty()) {
      full_ = true;
      return;
    }
    bytes_ += text.size();
    kept_.push_back(std::move(text));
    if (sampling_ == Sampling::first) {
      full_ = kept_.size() >= max_records_ || bytes_ >= max_bytes_;
    } else {
      while (kept_.size() > 1 && (kept_.size() > 2 * max_records_ || bytes_ > max_bytes_)) thin();
    }
  }

  // The number of records in the sample.
  size_t size() const { return std::min(kept_.size(), max_records_); }
  // Whether the byte limit made the sample smaller than wanted.
  bool lacks_room() const {
    const bool has_more = sampling_ == Sampling::first ? full_ : size() < seen_;
    return has_more && size() < max_records_;
  }
  // Valid until the next add().
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
  const size_t max_records_;
  const size_t max_bytes_;
  std::vector<std::string> kept_;
  size_t bytes_ = 0;
  uint64_t seen_ = 0;
  uint64_t stride_ = 1;
  bool full_ = false;
};

// Reads label names from NAME,NAME,... or from a file with one name per line. Throws UsageError for
// anything else.
std::vector<std::string> read_label_names(FileSystem& files, const std::string& given);

class Labels {
 public:
  // `feature`: "" selects the first of the usual label features.
  Labels(std::string feature, std::vector<std::string> names);

  // Returns "cat", or "3" if the value has no name; nullopt if the record has no label. Joins
  // several values by commas.
  std::optional<std::string> label(const MessageView& record);
  // Whether any record had a label.
  bool found_any() const { return found_any_; }
  // The name of `value`; null if it has none.
  const std::string* name(int64_t value) const;
  // The feature with the labels, given or found; "" until it is known.
  const std::string& feature() const { return feature_; }
  bool feature_was_said() const { return feature_was_said_; }

 private:
  std::string feature_;
  const bool feature_was_said_;
  bool found_any_ = false;
  const std::vector<std::string> names_;
};

}  // namespace recordpipe
