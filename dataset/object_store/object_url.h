// Parses the names of objects, s3://BUCKET/KEY and gs://BUCKET/KEY.
#pragma once

#include <string>
#include <string_view>

namespace recordpipe {

enum class ObjectScheme { s3, gs };

struct ObjectUrl {
  ObjectScheme scheme = ObjectScheme::s3;
  std::string bucket = {};
  std::string key =
      {};  // all bytes after the bucket's slash, not decoded; "" for the bucket itself

  // "s3://bucket/key"
  std::string text() const;
  // Whether it names a folder: the bucket, or a key that is empty or ends in a slash.
  bool is_folder() const { return key.empty() || key.ends_with('/'); }
};

// Throws Error{invalid_argument} for a bucket name that no service accepts, for example one with
// characters that end the host in a URL, and for a key of more than 1024 bytes.
ObjectUrl parse_object_url(std::string_view text);

}  // namespace recordpipe
