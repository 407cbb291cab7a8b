#include "recordpipe/example/unlisted_features.h"

#include "dataset/base/names_in_words.h"
#include "recordpipe/base/error.h"

namespace recordpipe {

std::string UnlistedFeatures::meet(std::string_view what, std::string_view name) const {
  if (options_.known.contains(name)) return {};
  return meet(std::string(what) + " '" + printable(name) + "'");
}

std::string UnlistedFeatures::meet(std::string field) const {
  if (options_.answer == Answer::count) return field;
  throw Error({.kind = ErrorKind::unsupported,
               .reason = field + ", which was not found in the first " +
                         grouped(options_.looked_into) + " records, is",
               .hint = options_.hint});
}

void UnlistedFeatures::count(std::span<const std::string> features, const Record& record) {
  const std::lock_guard lock(mutex_);
  for (const std::string& feature : features) {
    const bool is_named = counts_.contains(feature) ||
                          (counts_.size() < kMaxNames && feature.size() <= kMaxNameBytes);
    const auto [at, is_new] = counts_.try_emplace(is_named ? feature : "a feature of another name");
    Count& count = at->second;
    if (is_new) {
      count.path = record.path;
      count.offset = record.offset;
    }
    ++count.records;
  }
}

UnlistedFeatures::Counts UnlistedFeatures::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(counts_, {});
}

void UnlistedFeatures::begin_again() noexcept {
  if (internal::renew(mutex_)) {
    counts_.clear();
  } else {
    internal::renew_without_destruction(counts_);
  }
}

bool UnlistedFeatures::has_counts() const {
  const std::lock_guard lock(mutex_);
  return !counts_.empty();
}

}  // namespace recordpipe
