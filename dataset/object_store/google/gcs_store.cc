#include "dataset/object_store/google/gcs_store.h"

#include "dataset/object_store/aws/sigv4.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr char kGoogleLogin[] =
    "run: gcloud auth application-default login, or set GOOGLE_OAUTH_ACCESS_TOKEN";

}  // namespace

GcsStore::GcsStore(FileSystem& local, const Environment& environment, const HttpClientOptions& http)
    : local_(local),
      environment_(environment),
      http_(http),
      token_([this] { return fetch_token(); }) {}

GoogleToken GcsStore::fetch_token() {
  GoogleToken token = find_google_token(local_, environment_, http_);
  // The metadata server did not answer this time; it did before.
  if (token.token.empty() && had_token_) {
    throw TransientError({.kind = ErrorKind::network,
                          .reason = "the access token has expired, and no new one was found",
                          .hint = kGoogleLogin});
  }
  had_token_ = !token.token.empty();
  return token;
}

AuthorisedRequest GcsStore::authorise(const ObjectRequest& request) {
  const GoogleToken token = token_.get();
  const ObjectAddress address = gcs_address(request.object, environment_);
  AuthorisedRequest authorised{
      .request = request_to(address.url(canonical_query(request.query)), request),
      .anonymous = token.token.empty(),
      .secrets = {token.token}};
  for (const auto& [header, value] : request.headers) {
    if (header == "Accept-Encoding") continue;
    authorised.request.headers.push_back(header + ": " + value);
  }
  // Otherwise, an object that was stored with "Content-Encoding: gzip" is decompressed by the
  // service, which then ignores Range ("decompressive transcoding"). The client does not decode: it
  // gets the stored bytes.
  authorised.request.headers.push_back("Accept-Encoding: gzip");
  if (!token.token.empty()) {
    authorised.request.headers.push_back("Authorization: Bearer " + token.token);
  }
  return authorised;
}

ObjectHeaders GcsStore::if_new() const { return {{"x-goog-if-generation-match", "0"}}; }

ObjectHeaders GcsStore::checksum(uint32_t crc32c) const {
  return {{"x-goog-hash", "crc32c=" + crc32c_text(crc32c)}};
}

ObjectHeaders GcsStore::checksum_of_parts() const { return {}; }

bool GcsStore::is_content(const HttpResponse& response, const WrittenContent& content) const {
  return response.extension("x-goog-hash").find("crc32c=" + crc32c_text(content.crc32c)) !=
         std::string::npos;
}

bool GcsStore::renew(const AuthorisedRequest& sent, const ObjectRequest&,
                     const HttpResponse& response, const ServiceError&) {
  if (response.status != 401 || sent.anonymous) return false;
  const GoogleToken used = token_.get();
  if (used.token == sent.secrets[0]) token_.discard(used);
  return true;
}

std::string GcsStore::hint(const AuthorisedRequest& sent, const ServiceError& error) const {
  if (error.code == "NoSuchBucket") return "check the bucket";
  if (error.code == "NoSuchKey") return "check the key: there is no such object";
  if (sent.anonymous) {
    return std::string("no access token was found, so the request was not authorised: ") +
           kGoogleLogin;
  }
  if (error.code == "AccessDenied") {
    return sent.request.method == "GET" ? "check that the account may read the bucket"
                                        : "check that the account may write to the bucket";
  }
  return "check the bucket, the key, and the access token";
}

}  // namespace recordpipe
