#include "dataset/object_store/aws/credentials.h"

#include <initializer_list>

#include <nlohmann/json.hpp>

#include "dataset/object_store/requests/fetch.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

std::optional<AwsCredentials> environment_credentials(const Environment& environment) {
  const std::string key = environment("AWS_ACCESS_KEY_ID");
  const std::string secret = environment("AWS_SECRET_ACCESS_KEY");
  if (key.empty() && secret.empty()) return std::nullopt;
  if (key.empty() || secret.empty()) {
    throw Error(
        {.kind = ErrorKind::invalid_argument,
         .reason = std::string(key.empty() ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID") +
                   " is set without " +
                   (key.empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY"),
         .hint = "set both, or neither"});
  }
  return AwsCredentials{
      .access_key = checked_secret(key, "AWS_ACCESS_KEY_ID"),
      .secret_key = checked_secret(secret, "AWS_SECRET_ACCESS_KEY"),
      .session_token = checked_secret(environment("AWS_SESSION_TOKEN"), "AWS_SESSION_TOKEN")};
}

// Throws if the profile has one of `settings`: sources of credentials that are not supported.
void refuse(const AwsProfile& profile, std::initializer_list<const char*> settings) {
  for (const char* const setting : settings) {
    if (profile.get(setting).empty()) continue;
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "the profile " + printable(profile.name) + " takes credentials from " +
                           setting + ", which recordpipe can't do",
                 .hint = "run: eval \"$(aws configure export-credentials --profile " +
                         printable(profile.name) + " --format env)\""});
  }
}

// In the order of the AWS tools: a role comes before the keys, which may be those of a user who may
// assume it.
std::optional<AwsCredentials> profile_credentials(const AwsCredentialContext& context) {
  const AwsProfile profile = read_aws_profile(context.local, context.environment);
  const std::string token_file = profile.get("web_identity_token_file");
  if (!token_file.empty()) {
    return web_identity_credentials(context, token_file, profile.get("role_arn"),
                                    profile.get("role_session_name"));
  }
  refuse(profile, {"role_arn", "sso_session", "sso_start_url"});
  if (const std::string key = profile.get("aws_access_key_id"); !key.empty()) {
    const std::string where = " of the profile " + printable(profile.name);
    return AwsCredentials{.access_key = checked_secret(key, "aws_access_key_id" + where),
                          .secret_key = checked_secret(profile.get("aws_secret_access_key"),
                                                       "aws_secret_access_key" + where),
                          .session_token = checked_secret(profile.get("aws_session_token"),
                                                          "aws_session_token" + where)};
  }
  refuse(profile, {"credential_process", "login_session"});
  return std::nullopt;
}

}  // namespace

AwsCredentials parse_service_credentials(const std::string& json, const std::string& service) {
  const auto document = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  const auto text = [&](const char* name) -> std::string {
    const bool has_text =
        document.is_object() && document.contains(name) && document[name].is_string();
    return has_text ? document[name].get<std::string>() : "";
  };
  AwsCredentials credentials{
      .access_key = checked_secret(text("AccessKeyId"), "the access key of " + service),
      .secret_key = checked_secret(text("SecretAccessKey"), "the secret key of " + service),
      .session_token = checked_secret(text("Token"), "the token of " + service),
      .expires = parse_utc_time(text("Expiration"))};
  if (credentials.access_key.empty() || credentials.secret_key.empty()) {
    throw Error({.kind = ErrorKind::permission_denied,
                 .reason = service + " returned no credentials",
                 .hint = "check the role of this machine or container"});
  }
  return credentials;
}

AwsCredentials find_aws_credentials(const AwsCredentialContext& context) {
  const Environment& environment = context.environment;
  if (is_true(environment("AWS_NO_SIGN_REQUEST"))) return {};
  if (auto found = environment_credentials(environment)) return *found;
  if (const std::string file = environment("AWS_WEB_IDENTITY_TOKEN_FILE"); !file.empty()) {
    if (auto found = web_identity_credentials(context, file, environment("AWS_ROLE_ARN"),
                                              environment("AWS_ROLE_SESSION_NAME"))) {
      return *found;
    }
  }
  if (auto found = profile_credentials(context)) return *found;
  if (auto found = container_credentials(context)) return *found;
  if (auto found = instance_credentials(context)) return *found;
  return {};
}

}  // namespace recordpipe
