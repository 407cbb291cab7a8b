#include "dataset/toolkit/jobs/record_split.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "dataset/toolkit/files/file_name.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/example/example_view.h"
#include "recordpipe/example/message_view.h"

namespace recordpipe {
namespace {

constexpr uint64_t kSplitStream = 0x5350'4c49'5400'0001;  // random stream of this use of a seed
constexpr double kRounding = 1e-6;

Error refused(const std::string& reason, std::string hint = {}) {
  return Error({.kind = ErrorKind::invalid_argument, .reason = reason, .hint = std::move(hint)});
}

bool is_name(std::string_view name) {
  constexpr std::string_view kFirst =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  if (name.empty() || kFirst.find(name.front()) == kFirst.npos) return false;
  return std::ranges::all_of(name, [&](char c) {
    return kFirst.find(c) != kFirst.npos || c == '_' || c == '-' || c == '.';
  });
}

double unit(uint64_t bits) { return std::ldexp(static_cast<double>(bits >> 11), -53); }

double hash_of(uint64_t seed, std::span<const std::byte> value) {
  const std::string_view text(reinterpret_cast<const char*>(value.data()), value.size());
  return unit(seed_of_name(seed, text));
}

}  // namespace

void check_split(const RecordSplit& split) {
  std::set<std::string_view> names;
  double sum = 0;
  for (const auto& [name, fraction] : split.parts) {
    if (!is_name(name)) {
      throw refused("no name for a split: " + printable(name),
                    "it becomes part of a file name: letters, digits, _, - and .");
    }
    if (!names.insert(name).second) throw refused("two splits have the name " + name);
    if (!(fraction > 0) || fraction > 1) {
      throw refused("the fraction of split " + name + " is not above 0 and at most 1");
    }
    sum += fraction;
  }
  if (!split.parts.empty() && std::abs(sum - 1) > kRounding) {
    throw refused("the fractions of the splits don't add up to 1, but to " + std::to_string(sum));
  }
}

void check_split_inputs(const RecordSplit& split, const std::vector<std::string>& paths) {
  if (split.parts.empty() || split.key) return;
  std::map<std::string, const std::string*> owners;
  for (const std::string& path : paths) {
    const auto [owner, is_new] = owners.try_emplace(bare_name(path), &path);
    if (is_new) continue;
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = without_secrets(path),
                 .reason = "has the same name as " + without_secrets(*owner->second) +
                           ", and the splits of its records are drawn by it",
                 .hint = "split by a feature, or rename one of the files"});
  }
}

RecordSplitter::RecordSplitter(RecordSplit split, uint64_t seed)
    : split_(std::move(split)), seed_(seed) {
  check_split(split_);
  double sum = 0;
  for (const SplitPart& part : split_.parts) ends_.push_back(sum += part.fraction);
}

size_t RecordSplitter::split_of(const NumberedRecord& record) {
  if (split_.key) return by_key(record);
  begin_file(record.path);
  return by_number(record.number);
}

size_t RecordSplitter::drawn(const std::string& path, uint64_t number) {
  begin_file(path);
  return by_number(number);
}

void RecordSplitter::begin_file(std::string_view path) {
  if (path == path_ && !path_.empty()) return;
  path_ = path;
  file_key_ = derive_key(seed_of_name(seed_, bare_name(path_)), kSplitStream);
}

size_t RecordSplitter::by_number(uint64_t number) const {
  return split_at(unit(Random(file_key_, 0, number).next64()));
}

// Rounding leaves the end of the last split near 1.
size_t RecordSplitter::split_at(double u) const {
  size_t split = 0;
  while (split + 1 < ends_.size() && u >= ends_[split]) ++split;
  return split;
}

size_t RecordSplitter::by_key(const NumberedRecord& record) const {
  const auto refuse = [&](ErrorKind kind, const std::string& reason) {
    const bool is_list = message_kind(record.data) == MessageKind::example_list;
    return Error(
        {.kind = kind,
         .path = std::string(record.path),
         .offset = record.offset,
         .reason =
             "the feature " + printable(*split_.key) + ", which decides the split, " +
             (is_list ? "can't be read: not an Example but an ExampleListWithContext" : reason)});
  };
  const std::optional<FeatureView> feature = [&] {
    try {
      return find_feature(record.data, *split_.key);
    } catch (const Error& error) {
      throw refuse(ErrorKind::corrupted, "can't be read: " + error.reason());
    }
  }();
  if (!feature) throw refuse(ErrorKind::not_found, "is missing");
  if (const auto bytes = feature->single_bytes()) return split_at(hash_of(seed_, *bytes));
  if (const auto number = feature->single_int64()) {
    std::array<std::byte, 8> bytes;
    store_little_endian(static_cast<uint64_t>(*number), bytes.data());
    return split_at(hash_of(seed_, bytes));
  }
  throw refuse(ErrorKind::corrupted, "has not one int64 or bytes value");
}

}  // namespace recordpipe
