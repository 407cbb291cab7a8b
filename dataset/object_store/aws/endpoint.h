// Finds out where the requests for a bucket go.
#pragma once

#include <string>

#include "dataset/object_store/aws/profile.h"
#include "dataset/object_store/environment.h"
#include "dataset/object_store/object_url.h"

namespace recordpipe {

// An origin with a path, "https://host:port/path".
struct Endpoint {
  std::string scheme = "https";
  std::string host = {};  // with the port, unless it is the scheme's
  std::string path = {};  // "" or "/path"

  std::string text() const { return scheme + "://" + host + path; }
};

// Parses the value of the setting `name`. Throws Error{invalid_argument} for a value that is no
// http or https URL, or that has a user name, a query or a fragment; the message does not show the
// value.
Endpoint parse_endpoint(const std::string& value, const std::string& name);

struct S3Settings {
  // AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or endpoint_url of the profile. Empty: AWS. Not used if
  // AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is true.
  std::string endpoint = {};
  // AWS_REGION, AWS_DEFAULT_REGION, or region of the profile; otherwise us-east-1.
  std::string region = "us-east-1";
  // Whether the bucket is the first part of the path and not of the host: with an endpoint, unless
  // addressing_style of the profile is "virtual"; without one, only if it is "path".
  bool path_style = false;
};

S3Settings read_s3_settings(const AwsProfile& profile, const Environment& environment);

// The address of an object or, with an empty key, of its bucket.
struct ObjectAddress {
  Endpoint origin = {};
  std::string path = {};  // percent-encoded, starts with a slash

  // `query` is encoded, or "".
  std::string url(const std::string& query) const;
};

// A bucket with a dot or another character that a host's certificate does not cover is in the path.
ObjectAddress s3_address(const ObjectUrl& object, const S3Settings& settings,
                         const std::string& region);

// Cloud Storage's XML API: STORAGE_EMULATOR_HOST, over http if it has no scheme; otherwise
// CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE; otherwise https://storage.googleapis.com.
ObjectAddress gcs_address(const ObjectUrl& object, const Environment& environment);

// The URL of AWS STS: AWS_ENDPOINT_URL_STS, AWS_ENDPOINT_URL, or the one of the region.
std::string sts_url(const Environment& environment, const std::string& region);

}  // namespace recordpipe
