// The where language: selects records by the values of their features.
//
//     label == 3
//     label in [3, 5] and not has(`image/mask`)
//     text != 'none' or len(box) >= 4
//
// A comparison (== != < <= > >=, in [...], not in [...]) holds if some value of the feature
// satisfies it, so a missing feature, one without values or one of another kind satisfies none.
// ("not in" is the opposite of "in".) len(NAME) is the number of values, and has(NAME) whether
// there is such a feature with a list, if only an empty one. `and` binds closer than `or`, `not`
// closest.
//
// Names may hold letters, digits, _ / . : and - after the first character; any others stand in
// backticks or double quotes. Numbers are integers or decimals; strings stand in single or double
// quotes, with \\ \' \" \n \t \xNN, and are compared byte by byte. A number is rounded to a float
// before it is compared with one, so 0.1 equals the float 0.1; one beyond all floats stays what it
// is, so x > 1e39 finds infinities. A value that is NaN satisfies != with any number, and nothing
// else (IEEE 754); a literal can be neither, so x < 0 or x >= 0 finds what is no NaN.
//
// In a SequenceExample, names mean the context's features first, then feature lists: whose values
// are those of all steps, and whose len() is the number of steps. No other records have features.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "recordpipe/message_view.h"
#include "recordpipe/record.h"

namespace recordpipe {

class Where {
 public:
  // Throws Error{invalid_argument} that names the column, from 1, of a mistake; parentheses and
  // nots more than 100 deep are one. Messages call the expression `called`: a program gives the
  // name of its option.
  explicit Where(std::string_view expression, std::string_view called = "where");
  ~Where();
  Where(Where&&) noexcept;
  Where& operator=(Where&&) noexcept;

  // Safe to call from several threads.
  bool matches(const MessageView& record) const;
  // After the last record. Throws Error{not_found}, with the names that the first records have, for
  // a feature whose values or number were asked for and which no record has: if `looked_at_all`
  // records of all inputs; else only if none matched and a comparison that could have selected some
  // asked for it. Throws Error{invalid_argument} if none matched and the values of such a
  // comparison are never of a kind that its literals can be compared with. (has() asks whether
  // there is a feature: no is an answer.)
  void require_possible(bool looked_at_all) const;

  struct Condition;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Selects records by a where expression and a limit, for programs that count over all of them.
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
