#include "dataset/record/expanded_names.h"

#include <iterator>
#include <string_view>
#include <utility>

#include "dataset/io/braces.h"
#include "dataset/record/shard_set.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxNames = 1'000'000;
constexpr size_t kMaxBytesOfNames = size_t{256} << 20;

Error limit_exceeded(const std::string& name, std::string reason) {
  return Error({.kind = ErrorKind::limit_exceeded, .path = name, .reason = std::move(reason)});
}

// Counts names before they are made.
class Budget {
 public:
  explicit Budget(const std::string& name) : name_(name) {}

  // `size`: the length of each, about.
  void take(uint64_t count, size_t size) {
    if (count > kMaxNames - names_) {
      throw limit_exceeded(name_, "stands for more than 1,000,000 files");
    }
    names_ += count;
    bytes_ += count * (size + sizeof(std::string));
    if (bytes_ > kMaxBytesOfNames) {
      throw limit_exceeded(name_, "stands for files whose names have more than 256 MiB together");
    }
  }

 private:
  const std::string& name_;
  uint64_t names_ = 0;
  uint64_t bytes_ = 0;
};

// Whether the last component of a URL's path may be NAME@N: "https://user@8080" has none.
bool has_url_path(std::string_view url) { return url.find('/', url.find("://") + 3) != url.npos; }

}  // namespace

std::optional<std::vector<std::string>> expand_names(const std::string& name) {
  const bool is_url = is_http_url(name);
  const std::string_view path = without_query(name);
  const std::string_view query = std::string_view(name).substr(path.size());
  if (path.find_first_of("{@") == path.npos || (is_url && !has_url_path(path))) return std::nullopt;
  std::vector<std::string> words;
  try {
    const BracePattern braces(path);
    if (!braces.expands() && !parse_shard_set(path)) return std::nullopt;
    words = braces.words(kMaxNames);
  } catch (const Error& error) {
    throw limit_exceeded(name, error.reason());
  }
  Budget budget(name);
  std::vector<std::string> names;
  for (const std::string& word : words) {
    const auto set = parse_shard_set(word);
    constexpr size_t kShardNumbers = 20;
    budget.take(set ? set->shards : 1, word.size() + kShardNumbers + query.size());
    if (set) {
      std::ranges::move(set->names(), std::back_inserter(names));
    } else {
      names.push_back(word);
    }
  }
  for (std::string& found : names) found += query;
  return names;
}

}  // namespace recordpipe
