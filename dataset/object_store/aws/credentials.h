// Finds AWS credentials where the AWS tools find them.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "dataset/object_store/aws/profile.h"
#include "dataset/object_store/environment.h"
#include "recordpipe/http/client.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

struct AwsCredentials {
  std::string access_key = {};  // "" if none were found: requests are not signed
  std::string secret_key = {};
  std::string session_token = {};
  std::optional<std::chrono::system_clock::time_point> expires = {};

  bool anonymous() const { return access_key.empty(); }
  bool operator==(const AwsCredentials&) const = default;
};

struct AwsCredentialContext {
  FileSystem& local;
  Environment environment;
  HttpClientOptions http;
  std::string region;  // for AWS STS
};

// Returns the credentials of the first source that has some, as the AWS tools do:
//   1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
//   2. AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN (web_identity.cc)
//   3. the profile AWS_PROFILE (profile.h): web_identity_token_file and role_arn in it, then keys
//   4. AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or ..._FULL_URI (container_credentials.cc)
//   5. the instance metadata service, version 2 (instance_credentials.cc)
// Returns anonymous credentials if there are none, or if AWS_NO_SIGN_REQUEST is true. Throws
// Error{unsupported} for a profile whose credentials come from elsewhere (SSO, a process, another
// role), and TransientError if a service does not answer.
AwsCredentials find_aws_credentials(const AwsCredentialContext& context);

// The single sources. Empty if the source is not configured.
std::optional<AwsCredentials> web_identity_credentials(const AwsCredentialContext& context,
                                                       const std::string& token_file,
                                                       const std::string& role,
                                                       const std::string& session);
std::optional<AwsCredentials> container_credentials(const AwsCredentialContext& context);
std::optional<AwsCredentials> instance_credentials(const AwsCredentialContext& context);

// Parses the JSON of the container and instance services: AccessKeyId, SecretAccessKey, Token,
// Expiration. Throws Error{permission_denied} if there are none in it. `service` is for the
// message.
AwsCredentials parse_service_credentials(const std::string& json, const std::string& service);

// Whether credentials may be requested from `uri`, AWS_CONTAINER_CREDENTIALS_FULL_URI: over https,
// or from this machine (127.0.0.0/8, [::1], localhost), or from the services of ECS and EKS.
bool is_allowed_container_uri(const std::string& uri);

}  // namespace recordpipe
