#include "dataset/object_store/requests/service_error.h"

#include <algorithm>

#include "dataset/base/parse_number.h"
#include "dataset/object_store/requests/xml.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr size_t kLongestCode = 64;
constexpr size_t kLongestMessage = 300;

std::string shortened(const std::string& text, size_t size) {
  return text.size() <= size ? text : text.substr(0, size) + "...";
}

bool is_of_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// A short secret, such as "x" for a local server, is concealed where it is a word: letters of the
// message itself stay.
void conceal_in(std::string& text, const std::string& secret) {
  static constexpr std::string_view kConcealed = "...";
  static constexpr size_t kLong = 4;
  for (size_t at = 0; (at = text.find(secret, at)) != text.npos;) {
    const size_t end = at + secret.size();
    const bool is_part = (at > 0 && is_of_word(text[at - 1]) && is_of_word(text[at])) ||
                         (end < text.size() && is_of_word(text[end]) && is_of_word(text[end - 1]));
    if (is_part && secret.size() < kLong) {
      at = end;
    } else {
      text.replace(at, secret.size(), kConcealed);
      at += kConcealed.size();
    }
  }
}

void read_element(const XmlReader& xml, ServiceError& error) {
  std::string_view path = xml.path();
  if (path.starts_with("/ErrorResponse/"))
    path.remove_prefix(std::string_view("/ErrorResponse").size());
  const std::string& text = xml.text();
  if (path == "/Error/Code") {
    error.code = text;
  } else if (path == "/Error/Message") {
    error.message = text;
  } else if (path == "/Error/Region") {
    if (is_region(text)) error.region = text;
  } else if (path == "/Error/ActualObjectSize") {
    error.object_size = parse_number<uint64_t>(text);
  }
}

}  // namespace

void ServiceError::conceal(const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    if (secret.empty()) continue;
    conceal_in(code, secret);
    conceal_in(message, secret);
  }
  code = shortened(code, kLongestCode);
  message = shortened(message, kLongestMessage);
}

ServiceError parse_service_error(std::string_view body) {
  ServiceError error;
  try {
    XmlReader xml(body);
    while (xml.next()) {
      if (xml.event() == XmlReader::Event::end) read_element(xml, error);
    }
  } catch (const Error&) {
    return {};
  }
  return error;
}

std::string describe(long status, const ServiceError& error) {
  std::string text = std::to_string(status);
  if (!error.code.empty()) text += ", " + printable(error.code);
  if (!error.message.empty()) text += ": " + printable(error.message);
  return text;
}

bool is_transient(long status, std::string_view code) {
  static constexpr std::string_view kBusy[] = {
      "InternalError", "OperationAborted",   "RequestTimeout",      "RequestThrottled",
      "SlowDown",      "ServiceUnavailable", "ThrottlingException", "TooManyRequests"};
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504 || std::ranges::find(kBusy, code) != std::end(kBusy);
}

bool is_expired(std::string_view code) {
  return code == "ExpiredToken" || code == "ExpiredTokenException" || code == "RequestExpired" ||
         code == "TokenRefreshRequired";
}

bool is_region(std::string_view text) {
  static constexpr size_t kLongest = 40;
  return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

}  // namespace recordpipe
