// Credentials for a role, in exchange for a token in a file (Kubernetes, GitHub Actions): the
// action AssumeRoleWithWebIdentity of AWS STS, which needs no signature.
#include <ctime>

#include "dataset/object_store/aws/credentials.h"
#include "dataset/object_store/aws/endpoint.h"
#include "dataset/object_store/requests/fetch.h"
#include "dataset/object_store/requests/service_error.h"
#include "dataset/object_store/requests/uri_encode.h"
#include "dataset/object_store/requests/xml.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

std::string without_final_blanks(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.pop_back();
  }
  return text;
}

AwsCredentials parse_answer(const std::string& document) {
  AwsCredentials credentials;
  const std::string service = "AWS STS";
  XmlReader xml(document);
  while (xml.next()) {
    if (xml.event() != XmlReader::Event::end) continue;
    const std::string_view path = xml.path();
    if (path.ends_with("/Credentials/AccessKeyId")) {
      credentials.access_key = checked_secret(xml.text(), "the access key of " + service);
    } else if (path.ends_with("/Credentials/SecretAccessKey")) {
      credentials.secret_key = checked_secret(xml.text(), "the secret key of " + service);
    } else if (path.ends_with("/Credentials/SessionToken")) {
      credentials.session_token = checked_secret(xml.text(), "the token of " + service);
    } else if (path.ends_with("/Credentials/Expiration")) {
      credentials.expires = parse_utc_time(xml.text());
    }
  }
  return credentials;
}

}  // namespace

std::optional<AwsCredentials> web_identity_credentials(const AwsCredentialContext& context,
                                                       const std::string& token_file,
                                                       const std::string& role,
                                                       const std::string& session) {
  if (role.empty()) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = token_file,
                 .reason = "a web identity token without a role",
                 .hint = "set AWS_ROLE_ARN"});
  }
  const std::string token = checked_secret(
      without_final_blanks(read_small_file(context.local, token_file)), "the web identity token");
  if (token.empty()) {
    throw Error({.kind = ErrorKind::not_found,
                 .path = token_file,
                 .reason = "no web identity token",
                 .hint = "check AWS_WEB_IDENTITY_TOKEN_FILE"});
  }
  const std::string name =
      session.empty() ? "recordpipe-" + std::to_string(std::time(nullptr)) : session;
  const std::string url = sts_url(context.environment, context.region);
  const auto form = [](const std::string& text) { return uri_encode(text, Slashes::encode); };
  const HttpRequest request{
      .url = HttpUrl(url),
      .method = "POST",
      .headers = {"Content-Type: application/x-www-form-urlencoded"},
      .body = std::make_shared<const std::string>(
          "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" + form(role) +
          "&RoleSessionName=" + form(name) + "&WebIdentityToken=" + form(token))};
  const FetchedDocument answer = fetch(request, context.http);
  if (answer.status != 200) {
    ServiceError error = parse_service_error(answer.body);
    error.conceal({token});
    Error::Parts parts{.kind = ErrorKind::permission_denied,
                       .path = url,
                       .reason = "AWS STS answered " + describe(answer.status, error) +
                                 " to AssumeRoleWithWebIdentity",
                       .hint =
                           "check AWS_ROLE_ARN, the role's trust policy and "
                           "AWS_WEB_IDENTITY_TOKEN_FILE"};
    if (is_transient(answer.status, error.code)) throw TransientError(std::move(parts));
    throw Error(std::move(parts));
  }
  AwsCredentials credentials = parse_answer(answer.body);
  if (credentials.access_key.empty() || credentials.secret_key.empty()) {
    throw Error({.kind = ErrorKind::permission_denied,
                 .path = url,
                 .reason = "AWS STS returned no credentials",
                 .hint = "check AWS_ENDPOINT_URL_STS"});
  }
  return credentials;
}

}  // namespace recordpipe
