// Credentials from the agent of ECS or EKS, or of another container service.
#include <algorithm>

#include "dataset/base/lower_case.h"
#include "dataset/base/require.h"
#include "dataset/object_store/aws/credentials.h"
#include "dataset/object_store/requests/fetch.h"
#include "dataset/object_store/requests/service_error.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr char kEcsHost[] = "http://169.254.170.2";

// The host in "http://HOST:PORT/PATH", in lower case; "" for a URL with a user name.
std::string host_of(std::string_view uri) {
  const size_t begin = uri.find("://") + 3;
  std::string_view authority = uri.substr(begin, uri.find_first_of("/?#\\", begin) - begin);
  if (authority.find('@') != authority.npos) return "";
  if (authority.starts_with('[')) {
    authority = authority.substr(0, authority.find(']') + 1);
  } else {
    authority = authority.substr(0, authority.find(':'));
  }
  return lower_case(authority);
}

// 127.x.y.z; a name such as 127.0.0.1.example.org is none.
bool is_loopback(std::string_view host) {
  return host.starts_with("127.") && std::ranges::count(host, '.') == 3 &&
         host.find_first_not_of("0123456789.") == host.npos;
}

std::string authorization(const AwsCredentialContext& context) {
  const std::string file = context.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  std::string token = file.empty() ? context.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN")
                                   : read_small_file(context.local, file);
  while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  // May have the form "Basic abc".
  const bool is_plain = std::ranges::all_of(token, [](char c) { return c >= ' ' && c < 0x7f; });
  return is_plain ? token : checked_secret(token, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
}

}  // namespace

bool is_allowed_container_uri(const std::string& uri) {
  if (uri.starts_with("https://")) return true;
  if (!uri.starts_with("http://")) return false;
  const std::string host = host_of(uri);
  return host == "localhost" || host == "[::1]" || is_loopback(host) || host == "169.254.170.2" ||
         host == "169.254.170.23" || host == "[fd00:ec2::23]";
}

std::optional<AwsCredentials> container_credentials(const AwsCredentialContext& context) {
  const std::string relative = context.environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = context.environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && full.empty()) return std::nullopt;
  require(relative.empty() || relative.starts_with('/'),
          "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not start with /", "check its value");
  const std::string uri = relative.empty() ? full : kEcsHost + relative;
  if (!is_allowed_container_uri(uri)) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = uri,
                 .reason = "AWS_CONTAINER_CREDENTIALS_FULL_URI names a host that must not be asked "
                           "for credentials over http",
                 .hint = "only https, this machine, and the hosts of ECS and EKS are allowed"});
  }
  HttpRequest request{.url = HttpUrl(uri), .headers = {"Accept: application/json"}};
  if (const std::string token = authorization(context); !token.empty()) {
    request.headers.push_back("Authorization: " + token);
  }
  const bool is_local = uri.starts_with("http://");
  const FetchedDocument answer =
      fetch(request, is_local ? local_service(context.http) : context.http);
  const std::string service = "the container's credential service";
  if (answer.status == 200) return parse_service_credentials(answer.body, service);
  Error::Parts parts{.kind = ErrorKind::permission_denied,
                     .path = uri,
                     .reason = service + " answered " + std::to_string(answer.status),
                     .hint = "check the role of this container"};
  if (is_transient(answer.status, "")) throw TransientError(std::move(parts));
  throw Error(std::move(parts));
}

}  // namespace recordpipe
