#include "dataset/object_store/object_url.h"

#include <algorithm>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

// The limits of S3 and of Cloud Storage.
constexpr size_t kShortestBucket = 3;
constexpr size_t kLongestBucket = 255;  // of old buckets; new ones have at most 63 (GCS: 222)
constexpr size_t kLongestKey = 1024;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_bucket_name(std::string_view name) {
  return name.size() >= kShortestBucket && name.size() <= kLongestBucket &&
         is_alphanumeric(name.front()) && is_alphanumeric(name.back()) &&
         std::ranges::all_of(
             name, [](char c) { return is_alphanumeric(c) || c == '-' || c == '.' || c == '_'; });
}

Error not_an_object(std::string_view text, const std::string& reason, const std::string& hint) {
  return Error({.kind = ErrorKind::invalid_argument,
                .path = std::string(text),
                .reason = reason,
                .hint = hint});
}

}  // namespace

std::string ObjectUrl::text() const {
  return (scheme == ObjectScheme::s3 ? "s3://" : "gs://") + bucket + "/" + key;
}

ObjectUrl parse_object_url(std::string_view text) {
  ObjectUrl url{.scheme = text.starts_with("gs://") ? ObjectScheme::gs : ObjectScheme::s3};
  const std::string_view rest = text.substr(std::min<size_t>(text.size(), 5));
  const size_t slash = rest.find('/');
  url.bucket = rest.substr(0, slash);
  if (slash != rest.npos) url.key = rest.substr(slash + 1);
  if (!is_bucket_name(url.bucket)) {
    throw not_an_object(text, "the bucket has no valid name",
                        "write s3://BUCKET/KEY or gs://BUCKET/KEY, without a port or a user name");
  }
  if (url.key.size() > kLongestKey) {
    throw not_an_object(text, "the key has more than 1024 bytes", "check the key");
  }
  return url;
}

}  // namespace recordpipe
