// Selects records by a where expression and a limit, for programs that count over all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "recordpipe/message_view.h"
#include "recordpipe/record.h"
#include "recordpipe/toolkit/where.h"

namespace recordpipe {

class RecordFilter {
 public:
  // `where`: default all records. `limit`: only the first so many of those that match.
  explicit RecordFilter(std::optional<Where> where = {}, std::optional<uint64_t> limit = {});

  // The limit is reached.
  bool is_full() const { return left_ == 0; }
  // The next record that may be selected; on the reading thread. With a limit, `where` is evaluated
  // here: which records are the first ones depends on all before them.
  std::optional<Record> next(const std::function<std::optional<Record>()>& read);
  // Whether a record of next() is selected. Thread-safe.
  bool matches(const MessageView& message) const;
  // After all inputs: Where::require_possible().
  void require_possible() const;

 private:
  std::optional<Where> where_;
  std::optional<uint64_t> left_;
  MessageView message_;
};

}  // namespace recordpipe
