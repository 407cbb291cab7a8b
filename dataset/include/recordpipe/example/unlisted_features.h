// Features that records have and a schema does not name, and fields that no message has.
//
// A schema that was found in some of the records only may lack a feature of the others, whose
// values would then be lost, and so would a field that protobuf's parser skips or replaces. A
// collator with an UnlistedFeatures refuses such a record, or counts it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "recordpipe/base/internal/fork.h"
#include "recordpipe/record/record.h"

namespace recordpipe {

// Thread-safe.
class UnlistedFeatures {
 public:
  enum class Answer { refuse, count };

  struct Options {
    Answer answer = Answer::refuse;
    // Names that may be left out, apart from those of the schema.
    std::set<std::string, std::less<>> known = {};
    // The number of records in which the schema was found.
    uint64_t looked_into = 0;
    // Of the error.
    std::string hint = {};
  };

  struct Count {
    uint64_t records = 0;
    // The first record that was counted.
    std::string path = {};
    uint64_t offset = 0;
  };
  // By "feature 'NAME'", "feature list 'NAME'" or "field 5 of an Example". Beyond kMaxNames, and
  // for names that are longer than kMaxNameBytes, by "a feature of another name".
  using Counts = std::map<std::string, Count>;
  static constexpr size_t kMaxNames = 1000;
  static constexpr size_t kMaxNameBytes = 1024;

  explicit UnlistedFeatures(Options options) : options_(std::move(options)) {}

  const Options& options() const { return options_; }

  // For a feature that is not in the schema: returns its description if it must be counted, and ""
  // if its name is known. Throws Error{unsupported} if it is refused. `what`: "feature" or "feature
  // list".
  std::string meet(std::string_view what, std::string_view name) const;
  // The same for a field that is no feature, by its description.
  std::string meet(std::string field) const;
  // Counts a record with these features, which meet() has returned.
  void count(std::span<const std::string> features, const Record& record);

  // Returns what was counted since the last call.
  Counts take();
  bool has_counts() const;

 private:
  // In the child of a fork(), whose passes count anew.
  void begin_again() noexcept;

  const Options options_;
  mutable std::mutex mutex_;
  Counts counts_;
  const internal::AfterFork after_fork_{[this] { begin_again(); }};
};

}  // namespace recordpipe
