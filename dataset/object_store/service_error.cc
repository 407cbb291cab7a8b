#include "dataset/object_store/service_error.h"

#include <algorithm>
#include <charconv>

#include "dataset/object_store/xml.h"
#include "recordpipe/error.h"

namespace recordpipe {
namespace {

constexpr size_t kLongestCode = 64;
constexpr size_t kLongestMessage = 300;

std::string shortened(const std::string& text, size_t size) {
  return text.size() <= size ? text : text.substr(0, size) + "...";
}

void replace_all(std::string& text, const std::string& from) {
  static constexpr std::string_view kConcealed = "...";
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += kConcealed.size()) {
    text.replace(at, from.size(), kConcealed);
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
    uint64_t size = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (failure == std::errc() && end == text.data() + text.size()) error.object_size = size;
  }
}

}  // namespace

void ServiceError::conceal(const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    if (secret.empty()) continue;
    replace_all(code, secret);
    replace_all(message, secret);
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
