#include "dataset/object_store/aws/endpoint.h"

#include <algorithm>

#include "dataset/object_store/requests/service_error.h"
#include "dataset/object_store/requests/uri_encode.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"

namespace recordpipe {
namespace {

// The domain of the partition that a region belongs to.
std::string domain_of(const std::string& region) {
  return region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

// Whether a bucket's name may be the first label of a host: a certificate for *.s3.REGION... covers
// one label, and hosts are in lower case.
bool is_host_label(const std::string& bucket) {
  static constexpr size_t kLongestLabel = 63;
  return bucket.size() <= kLongestLabel && std::ranges::all_of(bucket, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

// The first value that is set.
std::string endpoint_url(const Environment& environment, const std::string& service,
                         std::string& name) {
  if (is_true(environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"))) return "";
  for (const std::string& variable :
       {"AWS_ENDPOINT_URL_" + service, std::string("AWS_ENDPOINT_URL")}) {
    name = variable;
    if (std::string value = environment(variable); !value.empty()) return value;
  }
  return "";
}

std::string checked_region(const std::string& region) {
  if (is_region(region)) return region;
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = printable(region) + " is not an AWS region",
               .hint = "check AWS_REGION, AWS_DEFAULT_REGION or the profile's region"});
}

}  // namespace

Endpoint parse_endpoint(const std::string& value, const std::string& name) {
  const auto refuse = [&](const std::string& reason) {
    return Error({.kind = ErrorKind::invalid_argument,
                  .reason = name + " " + reason,
                  .hint = "write http://HOST:PORT or https://HOST"});
  };
  if (!is_http_url(value)) throw refuse("is not an http or https URL");
  if (value.find_first_of("@?#\\ \t\r\n") != value.npos) {
    throw refuse("has a user name, a query or a blank");
  }
  Endpoint endpoint{.scheme = starts_with_scheme(value, "https://") ? "https" : "http"};
  const size_t begin = value.find("://") + 3;
  const size_t slash = std::min(value.find('/', begin), value.size());
  endpoint.host = value.substr(begin, slash - begin);
  endpoint.path = value.substr(slash);
  while (endpoint.path.ends_with('/')) endpoint.path.pop_back();
  const std::string port = endpoint.scheme == "https" ? ":443" : ":80";
  if (endpoint.host.ends_with(port)) endpoint.host.resize(endpoint.host.size() - port.size());
  if (endpoint.host.empty()) throw refuse("has no host");
  return endpoint;
}

S3Settings read_s3_settings(const AwsProfile& profile, const Environment& environment) {
  S3Settings settings;
  std::string name;
  settings.endpoint = endpoint_url(environment, "S3", name);
  if (settings.endpoint.empty() && !is_true(environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"))) {
    name = "endpoint_url";
    settings.endpoint = profile.get("s3.endpoint_url");
    if (settings.endpoint.empty()) settings.endpoint = profile.get("endpoint_url");
  }
  if (!settings.endpoint.empty()) (void)parse_endpoint(settings.endpoint, name);
  for (const std::string& region :
       {environment("AWS_REGION"), environment("AWS_DEFAULT_REGION"), profile.get("region")}) {
    if (region.empty()) continue;
    settings.region = checked_region(region);
    break;
  }
  const std::string style = profile.get("s3.addressing_style");
  settings.path_style = style == "path" || (!settings.endpoint.empty() && style != "virtual");
  return settings;
}

std::string ObjectAddress::url(const std::string& query) const {
  return origin.scheme + "://" + origin.host + path + (query.empty() ? "" : "?" + query);
}

ObjectAddress s3_address(const ObjectUrl& object, const S3Settings& settings,
                         const std::string& region) {
  ObjectAddress address;
  address.origin = settings.endpoint.empty()
                       ? Endpoint{.host = "s3." + region + "." + domain_of(region)}
                       : parse_endpoint(settings.endpoint, "the endpoint");
  address.path = address.origin.path;
  if (settings.path_style || !is_host_label(object.bucket)) {
    address.path += "/" + object.bucket;
    if (!object.key.empty()) address.path += "/" + uri_encode(object.key, Slashes::keep);
  } else {
    address.origin.host = object.bucket + "." + address.origin.host;
    address.path += "/" + uri_encode(object.key, Slashes::keep);
  }
  return address;
}

ObjectAddress gcs_address(const ObjectUrl& object, const Environment& environment) {
  std::string name = "STORAGE_EMULATOR_HOST";
  std::string host = environment(name);
  if (!host.empty() && !is_http_url(host)) host.insert(0, "http://");
  if (host.empty()) {
    name = "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE";
    host = environment(name);
  }
  ObjectAddress address{.origin = host.empty() ? Endpoint{.host = "storage.googleapis.com"}
                                               : parse_endpoint(host, name)};
  address.path = address.origin.path + "/" + object.bucket;
  if (!object.key.empty()) address.path += "/" + uri_encode(object.key, Slashes::keep);
  return address;
}

std::string sts_url(const Environment& environment, const std::string& region) {
  std::string name;
  const std::string endpoint = endpoint_url(environment, "STS", name);
  if (!endpoint.empty()) return parse_endpoint(endpoint, name).text() + "/";
  return "https://sts." + region + "." + domain_of(region) + "/";
}

}  // namespace recordpipe
