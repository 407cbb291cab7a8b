// Names of shards, and of sets of them: train@64 stands for train-00000-of-00064 to
// train-00063-of-00064.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recordpipe {

// At least five digits: "00064".
std::string shard_number(uint64_t number);
// "train-00000-of-00064.gz" for "train", 0, 64 and ".gz".
std::string shard_name(std::string_view stem, uint64_t shard, uint64_t shards,
                       std::string_view ending = {});

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
