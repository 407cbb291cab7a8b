// Names of sets of shards: train@64 stands for train-00000-of-00064 to train-00063-of-00064.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recordpipe {

struct ShardSet {
  std::string_view stem = {};
  uint64_t shards = 0;           // at least 1; UINT64_MAX for larger numbers
  std::string_view ending = {};  // "" or ".gz"

  // The names of all shards. The caller limits their number.
  std::vector<std::string> names() const;
};

// Returns nullopt if the last component of `path` is not NAME@N or NAME@N.ENDING.
std::optional<ShardSet> parse_shard_set(std::string_view path);

}  // namespace recordpipe
