#include "dataset/record/shard_set.h"

#include <charconv>
#include <system_error>

namespace recordpipe {

std::string shard_number(uint64_t number) {
  constexpr size_t kDigits = 5;
  std::string text = std::to_string(number);
  if (text.size() < kDigits) text.insert(0, kDigits - text.size(), '0');
  return text;
}

std::string shard_name(std::string_view stem, uint64_t shard, uint64_t shards,
                       std::string_view ending) {
  return std::string(stem) + '-' + shard_number(shard) + "-of-" + shard_number(shards) +
         std::string(ending);
}

std::vector<std::string> ShardSet::names() const {
  std::vector<std::string> names;
  names.reserve(shards);
  for (uint64_t shard = 0; shard < shards; ++shard) {
    names.push_back(shard_name(stem, shard, shards, ending));
  }
  return names;
}

std::optional<ShardSet> parse_shard_set(std::string_view path) {
  const size_t name = path.rfind('/') + 1;  // npos + 1 is 0
  const size_t at = path.rfind('@');
  if (at == path.npos || at <= name) return std::nullopt;
  const std::string_view number = path.substr(at + 1);
  ShardSet set{.stem = path.substr(0, at)};
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), set.shards);
  if (error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) set.shards = UINT64_MAX;
  set.ending = number.substr(static_cast<size_t>(end - number.data()));
  const bool is_ending = set.ending.empty() ||
                         (set.ending.front() == '.' && set.ending.find('.', 1) == set.ending.npos);
  if (set.shards == 0 || !is_ending) return std::nullopt;
  return set;
}

}  // namespace recordpipe
