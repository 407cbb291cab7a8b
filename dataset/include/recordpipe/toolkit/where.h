// Implements the where language, which selects records by the values of their features.
//
//     label == 3
//     label in [3, 5] and not has(`image/mask`)
//     text != 'none' or len(box) >= 4
//
// A comparison (== != < <= > >=, in [...], not in [...]) is true if any value of the feature
// satisfies it. It is false for a missing feature, a feature without values, and a feature of
// another kind. ("not in" is the negation of "in".) len(NAME) is the number of values. has(NAME) is
// true if the feature exists and has a list, even an empty one. Precedence, from high to low:
// `not`, `and`, `or`.
//
// Names start with a letter, _ or a non-ASCII character; further characters may also be digits and
// / . : -. Other names must be quoted with backticks or double quotes. Numbers are integers or
// decimals. Strings are quoted with single or double quotes, with the escapes \\ \' \" \n \t \xNN,
// and are compared bytewise. A number is rounded to float before a comparison with a float, so 0.1
// equals the float 0.1. A number that overflows float is not rounded, so x > 1e39 finds infinities.
// A NaN value satisfies only != with any number (IEEE 754). No literal is NaN or infinity, so "x <
// 0 or x >= 0" finds all values except NaN.
//
// In a SequenceExample, a name refers to a feature of the context, or if there is none, to a
// feature list. The values of a feature list are the values of all steps, and its len() is the
// number of steps. Records of other types have no features.
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
  // Throws Error{invalid_argument}, with the column (from 1), for a syntax error, and for
  // parentheses and nots nested more than 100 deep. `called` is the name of the expression in
  // messages, for example a program's option.
  explicit Where(std::string_view expression, std::string_view called = "where");
  ~Where();
  Where(Where&&) noexcept;
  Where& operator=(Where&&) noexcept;

  // Thread-safe.
  bool matches(const MessageView& record) const;
  // Must be called after the last record. Throws Error{not_found}, with the feature names of the
  // first records, if the expression uses the values or the number of values of a feature that no
  // record has. `looked_at_all` says whether all records of all inputs were read; if it is false,
  // throws only if no record matched and the feature is used in a comparison that could have
  // selected a record. Throws Error{invalid_argument} if no record matched and the values of such a
  // comparison never have a kind that is comparable with its literals. (has() is exempt: false is a
  // valid answer.)
  void require_possible(bool looked_at_all) const;

  struct Condition;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Selects records by a where expression and a limit, for programs that aggregate over all records.
class RecordFilter {
 public:
  // `where`: the records to select (default: all). `limit`: the maximum number of selected records
  // (default: no limit).
  explicit RecordFilter(std::optional<Where> where = {}, std::optional<uint64_t> limit = {});

  // true if the limit has been reached.
  bool is_full() const { return left_ == 0; }
  // Returns the next candidate record; must be called on the reading thread. With a limit, `where`
  // is evaluated here, because which records match first depends on all earlier records.
  std::optional<Record> next(const std::function<std::optional<Record>()>& read);
  // Whether a record returned by next() is selected. Thread-safe.
  bool matches(const MessageView& message) const;
  // Must be called after all inputs. Calls Where::require_possible().
  void require_possible() const;

 private:
  std::optional<Where> where_;
  std::optional<uint64_t> left_;
  MessageView message_;
};

}  // namespace recordpipe
