#include "dataset/object_store/google/access_token.h"

#include <algorithm>
#include <ctime>

#include <nlohmann/json.hpp>

#include "dataset/object_store/aws/profile.h"
#include "dataset/object_store/google/rs256.h"
#include "dataset/object_store/requests/fetch.h"
#include "dataset/object_store/requests/service_error.h"
#include "dataset/object_store/requests/uri_encode.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

using Json = nlohmann::json;

constexpr char kScope[] = "https://www.googleapis.com/auth/devstorage.read_only";
constexpr char kTokenUrl[] = "https://oauth2.googleapis.com/token";

std::string text_of(const Json& json, const char* name) {
  const bool has_text = json.is_object() && json.contains(name) && json[name].is_string();
  return has_text ? json[name].get<std::string>() : "";
}

// Parses the answer of a token service: access_token, expires_in (seconds).
GoogleToken parse_token(const FetchedDocument& answer, const std::string& url) {
  const Json json = Json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  GoogleToken token{.token = checked_secret(text_of(json, "access_token"), "the access token")};
  if (answer.status != 200 || token.token.empty()) {
    // The code, such as "invalid_grant". The description may repeat parts of the request.
    std::string code = text_of(json, "error").substr(0, 64);
    if (!code.empty()) code.insert(0, ", ");
    Error::Parts parts{
        .kind = ErrorKind::permission_denied,
        .path = url,
        .reason = "the token service answered " + std::to_string(answer.status) + printable(code),
        .hint = "run: gcloud auth application-default login"};
    if (is_transient(answer.status, "")) throw TransientError(std::move(parts));
    throw Error(std::move(parts));
  }
  // Not more than a day, whatever the server says.
  constexpr int64_t kLongest = 24 * 3600;
  const bool has_life = json.contains("expires_in") && json["expires_in"].is_number_integer();
  const int64_t seconds = has_life ? json["expires_in"].get<int64_t>() : 60;
  token.expires = std::chrono::system_clock::now() +
                  std::chrono::seconds(std::clamp<int64_t>(seconds, 0, kLongest));
  return token;
}

GoogleToken request_token(const std::string& url, const std::string& form,
                          const HttpClientOptions& http) {
  return parse_token(fetch({.url = HttpUrl(url),
                            .method = "POST",
                            .headers = {"Content-Type: application/x-www-form-urlencoded"},
                            .body = std::make_shared<const std::string>(form)},
                           http),
                     url);
}

std::string encoded(const std::string& text) { return uri_encode(text, Slashes::encode); }

std::string token_url(const Json& file) {
  std::string url = text_of(file, "token_uri");
  return url.empty() ? kTokenUrl : url;
}

GoogleToken user_token(const Json& file, const HttpClientOptions& http) {
  return request_token(token_url(file),
                       "grant_type=refresh_token&client_id=" + encoded(text_of(file, "client_id")) +
                           "&client_secret=" + encoded(text_of(file, "client_secret")) +
                           "&refresh_token=" + encoded(text_of(file, "refresh_token")),
                       http);
}

GoogleToken service_account_token(const Json& file, const std::string& path,
                                  const HttpClientOptions& http) {
  constexpr int kLife = 3600;
  const std::string url = token_url(file);
  const std::time_t now = std::time(nullptr);
  const Json claims = {{"iss", text_of(file, "client_email")},
                       {"scope", kScope},
                       {"aud", url},
                       {"iat", now},
                       {"exp", now + kLife}};
  try {
    return request_token(
        url,
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" +
            signed_jwt(claims.dump(-1, ' ', true, Json::error_handler_t::replace),
                       text_of(file, "private_key")),
        http);
  } catch (const Error& error) {
    if (!error.path().empty()) throw;
    Error::Parts parts = error.parts();
    parts.path = path;
    throw Error(std::move(parts));
  }
}

std::optional<GoogleToken> file_token(FileSystem& local, const Environment& environment,
                                      const HttpClientOptions& http) {
  std::string path = environment("GOOGLE_APPLICATION_CREDENTIALS");
  const bool was_chosen = !path.empty();
  if (!was_chosen) {
    const std::string home = environment("HOME");
    std::string folder = environment("CLOUDSDK_CONFIG");
    if (folder.empty() && !home.empty()) folder = home + "/.config/gcloud";
    if (folder.empty()) return std::nullopt;
    path = folder + "/application_default_credentials.json";
  }
  const std::string text = read_small_file(local, path);
  if (text.empty() && !was_chosen) return std::nullopt;
  const Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const std::string type = text_of(file, "type");
  if (type == "authorized_user") return user_token(file, http);
  if (type == "service_account") return service_account_token(file, path, http);
  throw Error({.kind = text.empty() ? ErrorKind::not_found : ErrorKind::unsupported,
               .path = path,
               .reason = text.empty() ? "no such file, which GOOGLE_APPLICATION_CREDENTIALS names"
                         : type.empty()
                             ? "no credentials of Google"
                             : "credentials of the type " + printable(type.substr(0, 64)) +
                                   ", which recordpipe can't use",
               .hint = "run: export GOOGLE_OAUTH_ACCESS_TOKEN=$(gcloud auth "
                       "application-default print-access-token)"});
}

std::optional<GoogleToken> metadata_token(const Environment& environment,
                                          const HttpClientOptions& http) {
  if (is_true(environment("NO_GCE_CHECK"))) return std::nullopt;
  std::string host = environment("GCE_METADATA_HOST");
  // The address and not the name: a resolver might send the name elsewhere.
  if (host.empty()) host = "169.254.169.254";
  const std::string url =
      "http://" + host + "/computeMetadata/v1/instance/service-accounts/default/token";
  try {
    const FetchedDocument answer =
        fetch({.url = HttpUrl(url), .headers = {"Metadata-Flavor: Google"}}, local_service(http));
    if (answer.status == 404) return std::nullopt;  // no service account, or another cloud
    return parse_token(answer, url);
  } catch (const TransientError&) {
    return std::nullopt;  // not a machine of Google Cloud
  }
}

}  // namespace

GoogleToken find_google_token(FileSystem& local, const Environment& environment,
                              const HttpClientOptions& http) {
  if (!environment("STORAGE_EMULATOR_HOST").empty()) return {};
  for (const char* const name : {"GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"}) {
    if (std::string token = environment(name); !token.empty()) {
      return {.token = checked_secret(std::move(token), name)};
    }
  }
  if (auto token = file_token(local, environment, http)) return *token;
  if (auto token = metadata_token(environment, http)) return *token;
  return {};
}

}  // namespace recordpipe
