// Implements the where language, which selects records by the values of their features.
//
//     label == 3
//     label in [3, 5] and not has(`image/mask`)
//     text != 'none' or len(box) >= 4
//     contains(caption, "cat") and not matches(caption, r"\b(dog|wolf)s?\b")
//     record.size > 1048576 or record.number < 100 or endswith(record.path, "-00000-of-00064")
//
// A comparison (== != < <= > >=, in [...], not in [...]) is true if any value of the feature
// satisfies it. It is false for a missing feature, a feature without values, and a feature of
// another kind. So "x not in [1, 2]" is true if x has a value other than 1 and 2, as x != 1 is if x
// has a value other than 1; "not x in [1, 2]" is true if no value of x is 1 or 2, also if there is
// no x. len(NAME) is the number of values. has(NAME) is true if the feature exists and has a list,
// even an empty one. Precedence, from high to low: `not`, `and`, `or`.
//
// startswith(NAME, "ab"), endswith(), contains() and matches() are true if any bytes value of the
// feature starts with, ends with or contains the bytes of the string, or if the regular expression
// matches anywhere in it (^ and $ anchor it). In place of NAME, * stands for every feature. Regular
// expressions are RE2's (https://github.com/google/re2/wiki/Syntax): those of Python without
// look-around and back-references, in UTF-8. A pattern that has \xNN from \x80 on is one of bytes.
// Time is linear in the size of the value.
//
// record.size is the number of bytes of the record's data, record.number its number in its file,
// from 0 (without damaged ones, where these are skipped), and record.path the file's path: as it
// was given or found by a pattern, "-" for standard input, and without secrets for a URL. A feature
// with such a name stands in backticks.
//
// Names start with a letter, _ or a non-ASCII character; further characters may also be digits and
// / . : -. Other names must be quoted with backticks or double quotes. Numbers are integers, from
// -2^63 to 2^64 - 1, or decimals. Strings are quoted with single or double quotes, with the escapes
// \\ \' \" \n \t \xNN, and are compared bytewise. In r"..." and r'...', a backslash is a character
// as any other. A number is rounded to float before a comparison with a float, so 0.1 equals the
// float 0.1. A number that overflows float is not rounded, so x > 1e39 finds infinities. A NaN
// value satisfies only != with any number (IEEE 754). No literal is NaN or infinity.
// "x < 0 or x >= 0" finds all values except NaN.
//
// In a SequenceExample, a name refers to a feature of the context, or if there is none, to a
// feature list. The values of a feature list are the values of all steps, and its len() is the
// number of steps. In an ExampleListWithContext, the Examples are the steps. Records of other types
// have no features; those of unknown type are counted (require_possible()).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/example/message_view.h"
#include "recordpipe/record/record.h"

namespace recordpipe {

// A record, and its number in its file, from 0.
struct NumberedRecord : Record {
  uint64_t number = 0;
};

// Numbers the records of several files that are read one after another. A record begins a file if
// its path is another one (another view, whatever its characters) or if its offset is smaller than
// that of the record before it. Views must remain valid until the last call.
class RecordNumbers {
 public:
  NumberedRecord numbered(const Record& record);

 private:
  std::string_view path_ = {};
  uint64_t offset_ = 0;
  uint64_t next_ = 0;
};

class Where {
 public:
  // Throws Error{invalid_argument}, with the column (from 1), for a syntax error, and for
  // parentheses and nots nested more than 100 deep; also for regular expressions of more than
  // 10,000 bytes, or more than 8 MiB when compiled. `called` is the name of the expression in
  // messages, for example a program's option.
  explicit Where(std::string_view expression, std::string_view called = "where");
  ~Where();
  // The same expression, which has seen no records.
  Where(const Where& other);
  Where(Where&&) noexcept;
  Where& operator=(Where&&) noexcept;

  // Values of features that a message can't hold, by name: of doubles, and of integers from 2^63
  // on.
  struct ExactNumbers {
    std::map<std::string, std::vector<double>, std::less<>> doubles = {};
    std::map<std::string, std::vector<uint64_t>, std::less<>> uint64s = {};
  };
  // Whether a record and its message match. Thread-safe. Comparisons use `exact`, if there is one,
  // in place of the values of the message's features of these names; no number is rounded.
  bool matches(const MessageView& message, const NumberedRecord& record,
               const ExactNumbers* exact = nullptr) const;
  // The same for a message alone. Throws Error{invalid_argument} if the answer depends on
  // record.size, record.number or record.path.
  bool matches(const MessageView& message) const;
  // Names that exist though no record may have them, such as the fields of a type: for
  // require_possible(). Default: none.
  using IsKnown = std::function<bool(const std::string& name)>;
  void set_known(IsKnown is_known);
  // Must be called after the last record. Throws Error{not_found}, with the feature names of the
  // first records, if the expression uses the values or the number of values of a feature that no
  // record has, wherever in the expression it stands, and whatever was evaluated. Exempt are
  // features for which the expression has a has(): they may be missing. Throws
  // Error{invalid_argument} if no record matched and the values of a comparison that isn't under a
  // `not` never have a kind that is comparable with its literals.
  //
  // `looked_at_all` says whether all records of all inputs were read. If it is false, other records
  // may have the feature: throws nothing, and returns the reason of the error for a note.
  //
  // Records of unknown type (MessageKind) count as well, if the expression uses features: a note
  // says how many they are, that they have no features, and why one of them is undecided. Returns
  // an empty string if there is nothing to note.
  [[nodiscard]] std::string require_possible(bool looked_at_all) const;

  // The records of unknown type.
  struct Unknown {
    uint64_t count = 0;
    // Of the undecided one with the lowest number in its file (in the file with the first path).
    std::string why = {};
    uint64_t number = 0;
    std::string path = {};
  };
  // What matches() has found out so far, for require_possible(). What it has found out in another
  // process, with the same expression, can be added; throws Error{invalid_argument} for another
  // expression.
  struct Seen {
    bool any = false;  // record
    bool matched = false;
    std::vector<uint8_t> kinds = {};  // of each condition
    std::vector<std::string> names = {};
    Unknown unknown = {};
  };
  Seen seen() const;
  void add_seen(const Seen& seen);

  struct Condition;

 private:
  struct State;

  bool matches(const MessageView& message, const NumberedRecord* record,
               const ExactNumbers* exact) const;

  std::unique_ptr<State> state_;
};

// Selects records by a where expression and a limit, for programs that aggregate over all records.
class RecordFilter {
 public:
  // `where`: the records to select (default: all). `limit`: the maximum number of selected records
  // (default: no limit). `kind`: the type of the messages (default: as message_kind() says).
  explicit RecordFilter(std::optional<Where> where = {}, std::optional<uint64_t> limit = {},
                        std::optional<MessageKind> kind = {});

  // true if the limit has been reached.
  bool is_full() const { return left_ == 0; }
  // Returns the next candidate record; must be called on the reading thread. With a limit, `where`
  // is evaluated here, because which records match first depends on all earlier records.
  // The numbers are those of RecordNumbers.
  std::optional<NumberedRecord> next(const std::function<std::optional<Record>()>& read);
  // Whether a record returned by next(), with this message, is selected. Thread-safe.
  bool matches(const MessageView& message, const NumberedRecord& record) const;
  // Must be called after all inputs. Returns the result of Where::require_possible().
  [[nodiscard]] std::string require_possible() const;
  const std::optional<Where>& where() const { return where_; }
  std::optional<MessageKind> kind() const { return kind_; }

 private:
  std::optional<Where> where_;
  std::optional<uint64_t> left_;
  std::optional<MessageKind> kind_;
  RecordNumbers numbers_;
  MessageView message_;
};

}  // namespace recordpipe
