// --where and --limit of commands that count over all records (schema, stats).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "recordpipe/message_view.h"
#include "recordpipe/record.h"
#include "tools/tfrecord/command_line/cli_forward.h"
#include "tools/tfrecord/records/where.h"

namespace recordpipe {

struct FilterArguments {
  std::string where = {};
  std::optional<uint64_t> limit = {};
};

// Adds --where and --limit.
void add_filter(CLI::App& app, FilterArguments& arguments);

class RecordFilter {
 public:
  explicit RecordFilter(const FilterArguments& arguments);

  // The limit is reached.
  bool is_full() const { return left_ == 0; }
  // The next record that may be selected; on the reading thread. With a limit, `where` is evaluated
  // here: which records are the first ones depends on all before them.
  std::optional<Record> next(const std::function<std::optional<Record>()>& read);
  // Whether a record of next() is selected; on any thread.
  bool matches(const MessageView& message) const;
  // After all inputs: Where::require_possible().
  void require_possible() const;

 private:
  std::optional<Where> where_;
  std::optional<uint64_t> left_;
  MessageView message_;
};

}  // namespace recordpipe
