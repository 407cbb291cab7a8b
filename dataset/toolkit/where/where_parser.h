// Parses a where expression into a syntax tree. where.h describes the language.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dataset/toolkit/where/regex.h"
#include "recordpipe/toolkit/where.h"

namespace recordpipe {

// uint64_t: from 2^63 on.
using WhereLiteral = std::variant<int64_t, uint64_t, double, std::string>;

struct Where::Condition {
  enum class Kind { all_of, any_of, negation, comparison, length, has, function };
  // not_equal differs from all literals, the others fit at least one.
  enum class Operator { equal, not_equal, less, less_or_equal, greater, greater_or_equal };
  enum class Function { startswith, endswith, contains, matches };
  // What is compared: the feature `name`, every feature (in functions), or a fact about the record.
  enum class Subject { feature, any_feature, record_size, record_number, record_path };

  Kind kind = Kind::all_of;
  std::vector<Condition> parts = {};  // of all_of, any_of and negation
  // The following members are for comparisons, length, has and functions.
  Subject subject = Subject::feature;
  std::string name = {};
  Operator how = Operator::equal;
  std::vector<WhereLiteral> literals = {};  // several for in and not in; a function has one string
  Function function = Function::contains;
  std::shared_ptr<const Regex> regex = {};  // of Function::matches
  // The kinds of the values of the feature `name`, as bits; 0 if no record has the feature. Any
  // thread may set them.
  mutable uint8_t kinds = 0;
};

// "contains"
std::string_view to_string(Where::Condition::Function function);

// Throws the errors of Where's constructor.
Where::Condition parse_where(std::string_view expression, std::string_view called);

}  // namespace recordpipe
