// Credentials from the instance metadata service of EC2, version 2 only: version 1 answers any
// request from this machine, also one that a web page or a server caused.
#include "dataset/object_store/aws/credentials.h"
#include "dataset/object_store/requests/fetch.h"
#include "dataset/object_store/requests/service_error.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"

namespace recordpipe {
namespace {

constexpr char kIPv4[] = "http://169.254.169.254";
constexpr char kIPv6[] = "http://[fd00:ec2::254]";
constexpr char kService[] = "the instance metadata service";

std::string endpoint_of(const Environment& environment) {
  std::string endpoint = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (endpoint.empty()) {
    endpoint = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE") == "IPv6" ? kIPv6 : kIPv4;
  }
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint;
}

// Returns the answer to a request that needs the service's token; empty for 404.
std::optional<std::string> read(const std::string& url, const std::string& token,
                                const HttpClientOptions& options) {
  const FetchedDocument answer =
      fetch({.url = HttpUrl(url), .headers = {"X-aws-ec2-metadata-token: " + token}}, options);
  if (answer.status == 200) return answer.body;
  if (answer.status == 404) return std::nullopt;
  Error::Parts parts{.kind = ErrorKind::permission_denied,
                     .path = url,
                     .reason = std::string(kService) + " answered " + std::to_string(answer.status),
                     .hint = "check the role of this instance"};
  if (is_transient(answer.status, "")) throw TransientError(std::move(parts));
  throw Error(std::move(parts));
}

}  // namespace

std::optional<AwsCredentials> instance_credentials(const AwsCredentialContext& context) {
  if (is_true(context.environment("AWS_EC2_METADATA_DISABLED"))) return std::nullopt;
  const std::string endpoint = endpoint_of(context.environment);
  const HttpClientOptions options = local_service(context.http);
  FetchedDocument answer;
  try {
    answer = fetch({.url = HttpUrl(endpoint + "/latest/api/token"),
                    .method = "PUT",
                    .headers = {"X-aws-ec2-metadata-token-ttl-seconds: 21600"}},
                   options);
  } catch (const TransientError&) {
    return std::nullopt;  // not an EC2 instance, or its hop limit excludes containers
  }
  if (answer.status != 200) return std::nullopt;
  const std::string token = checked_secret(answer.body, "the token of " + std::string(kService));
  const std::string roles = endpoint + "/latest/meta-data/iam/security-credentials/";
  const std::optional<std::string> listed = read(roles, token, options);
  const std::string role = listed ? listed->substr(0, listed->find_first_of("\r\n")) : "";
  if (role.empty()) return std::nullopt;  // the instance has no role
  const std::optional<std::string> credentials =
      read(roles + checked_secret(role, "the role's name"), token, options);
  if (!credentials) return std::nullopt;
  return parse_service_credentials(*credentials, kService);
}

}  // namespace recordpipe
