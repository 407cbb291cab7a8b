#include "dataset/object_store/aws/s3_store.h"

#include <ctime>

#include "dataset/object_store/aws/sigv4.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr char kAwsLogin[] =
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give this machine a role";

}  // namespace

S3Store::S3Store(FileSystem& local, const Environment& environment, const HttpClientOptions& http)
    : settings_(read_s3_settings(read_aws_profile(local, environment), environment)),
      context_{
          .local = local, .environment = environment, .http = http, .region = settings_.region},
      credentials_([this] { return fetch_credentials(); }) {}

AwsCredentials S3Store::fetch_credentials() {
  AwsCredentials credentials = find_aws_credentials(context_);
  // The metadata service did not answer this time; it did before.
  if (credentials.anonymous() && had_credentials_) {
    throw TransientError({.kind = ErrorKind::network,
                          .reason = "the AWS credentials have expired, and no new ones were found",
                          .hint = kAwsLogin});
  }
  had_credentials_ = !credentials.anonymous();
  return credentials;
}

std::string S3Store::region_of(const std::string& bucket) {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(bucket);
  return found == regions_.end() ? settings_.region : found->second;
}

AuthorisedRequest S3Store::authorise(const ObjectRequest& request) {
  const AwsCredentials credentials = credentials_.get();
  const std::string region = region_of(request.object.bucket);
  const ObjectAddress address = s3_address(request.object, settings_, region);
  const std::time_t now = std::time(nullptr);

  SigV4Request to_sign{.method = request.method,
                       .path = address.path,
                       .query = request.query,
                       .headers = request.headers};
  to_sign.headers.emplace_back("Host", address.origin.host);
  AuthorisedRequest authorised{
      .request = request_to(address.url(canonical_query(request.query)), request),
      .anonymous = credentials.anonymous(),
      .secrets = {credentials.access_key, credentials.secret_key, credentials.session_token}};
  if (!credentials.anonymous()) {
    // The service compares it with the body, so that it is also a checksum of the transfer.
    if (request.body) to_sign.payload_sha256 = sha256_of(*request.body);
    to_sign.headers.emplace_back("x-amz-content-sha256", to_sign.payload_sha256);
    to_sign.headers.emplace_back("x-amz-date", sigv4_time(now));
    if (!credentials.session_token.empty()) {
      to_sign.headers.emplace_back("x-amz-security-token", credentials.session_token);
    }
  }
  for (const auto& [header, value] : to_sign.headers) {
    authorised.request.headers.push_back(header + ": " + value);
  }
  if (!credentials.anonymous()) {
    // Proxies may change this header.
    std::erase_if(to_sign.headers,
                  [](const auto& header) { return header.first == "Accept-Encoding"; });
    authorised.request.headers.push_back("Authorization: " +
                                         sigv4_authorization(to_sign,
                                                             {.access_key = credentials.access_key,
                                                              .secret_key = credentials.secret_key,
                                                              .region = region},
                                                             now));
  }
  return authorised;
}

ObjectHeaders S3Store::if_new() const { return {{"If-None-Match", "*"}}; }

ObjectHeaders S3Store::checksum(uint32_t crc32c) const {
  return {{"x-amz-checksum-crc32c", crc32c_text(crc32c)}};
}

ObjectHeaders S3Store::checksum_of_parts() const {
  return {{"x-amz-checksum-algorithm", "CRC32C"}};
}

bool S3Store::is_content(const HttpResponse& response, const WrittenContent& content) const {
  return !content.etag.empty() && response.etag == content.etag;
}

bool S3Store::renew(const AuthorisedRequest& sent, const ObjectRequest& request,
                    const HttpResponse& response, const ServiceError& error) {
  if (is_expired(error.code)) {
    AwsCredentials used = credentials_.get();
    if (used.access_key == sent.secrets[0] && used.session_token == sent.secrets[2]) {
      credentials_.discard(used);
    }
    return true;
  }
  const std::string named = response.extension("x-amz-bucket-region");
  const std::string region = is_region(named) ? named : error.region;
  const bool is_elsewhere = response.status == 301 || response.status == 307 ||
                            error.code == "AuthorizationHeaderMalformed";
  // An endpoint that was given stays the only one.
  if (!is_elsewhere || region.empty() || !settings_.endpoint.empty()) return false;
  const std::lock_guard lock(mutex_);
  std::string& known = regions_.try_emplace(request.object.bucket, settings_.region).first->second;
  if (known == region) return false;
  known = region;
  return true;
}

std::string S3Store::hint(const AuthorisedRequest& sent, const ServiceError& error) const {
  const std::string& code = error.code;
  if (is_expired(code)) return "renew the credentials";
  if (code == "NoSuchBucket") return "check the bucket, the endpoint and the region";
  if (code == "NoSuchKey") return "check the key: there is no such object";
  if (code == "RequestTimeTooSkewed") return "set this machine's clock";
  if (code == "SignatureDoesNotMatch") return "check the secret key, and the endpoint";
  if (code == "InvalidAccessKeyId" || code == "InvalidToken") return "check the credentials";
  if (code == "PermanentRedirect" || code == "AuthorizationHeaderMalformed" ||
      code == "TemporaryRedirect") {
    return error.region.empty() ? "set AWS_REGION to the bucket's region"
                                : "set AWS_REGION=" + error.region;
  }
  if (sent.anonymous) {
    return std::string("no AWS credentials were found, so the request was not signed: ") +
           kAwsLogin;
  }
  if (code == "AccessDenied") {
    const std::string& method = sent.request.method;
    if (method == "DELETE") return "check that the credentials allow s3:DeleteObject";
    return method == "GET" ? "check that the credentials allow s3:GetObject and s3:ListBucket"
                           : "check that the credentials allow s3:PutObject";
  }
  return "check the bucket and the key";
}

}  // namespace recordpipe
