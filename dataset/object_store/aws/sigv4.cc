#include "dataset/object_store/aws/sigv4.h"

#include <algorithm>

#include "dataset/base/hex.h"
#include "dataset/base/lower_case.h"
#include "dataset/object_store/requests/uri_encode.h"
#include "recordpipe/io/sha256.h"

namespace recordpipe {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;
using Digest = std::array<std::byte, 32>;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// A header's value without blanks at its ends, and with single blanks inside.
std::string with_single_blanks(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c != ' ' && c != '\t') {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

// Names in lower case, sorted; the values of a repeated name are joined.
Pairs canonical_headers(const Pairs& headers) {
  Pairs all;
  for (const auto& [name, value] : headers) {
    all.emplace_back(lower_case(name), with_single_blanks(value));
  }
  std::ranges::stable_sort(all, {}, &std::pair<std::string, std::string>::first);
  Pairs joined;
  for (auto& [name, value] : all) {
    if (!joined.empty() && joined.back().first == name) {
      joined.back().second += "," + value;
    } else {
      joined.emplace_back(std::move(name), std::move(value));
    }
  }
  return joined;
}

std::string signed_names(const Pairs& canonical) {
  std::string names;
  for (const auto& [name, value] : canonical) names += (names.empty() ? "" : ";") + name;
  return names;
}

std::string canonical_request(const SigV4Request& request, const Pairs& headers) {
  std::string text =
      request.method + "\n" + request.path + "\n" + canonical_query(request.query) + "\n";
  for (const auto& [name, value] : headers) text += name + ":" + value + "\n";
  return text + "\n" + signed_names(headers) + "\n" + request.payload_sha256;
}

}  // namespace

std::string sha256_of(std::string_view text) {
  Sha256 hash;
  hash.update(bytes_of(text));
  return hash.hex();
}

std::array<std::byte, 32> hmac_sha256(std::span<const std::byte> key, std::string_view text) {
  static constexpr size_t kBlock = 64;
  std::array<std::byte, kBlock> padded{};
  if (key.size() > kBlock) {
    Sha256 shorter;
    shorter.update(key);
    std::ranges::copy(shorter.digest(), padded.begin());
  } else {
    std::ranges::copy(key, padded.begin());
  }
  const auto masked = [&padded](int mask) {
    std::array<std::byte, kBlock> block = padded;
    for (std::byte& byte : block) byte ^= std::byte(mask);
    return block;
  };
  Sha256 inner;
  inner.update(masked(0x36));
  inner.update(bytes_of(text));
  Sha256 outer;
  outer.update(masked(0x5c));
  outer.update(inner.digest());
  return outer.digest();
}

std::string canonical_query(const Pairs& query) {
  Pairs encoded;
  for (const auto& [name, value] : query) {
    encoded.emplace_back(uri_encode(name, Slashes::encode), uri_encode(value, Slashes::encode));
  }
  std::ranges::sort(encoded);
  std::string text;
  for (const auto& [name, value] : encoded) {
    text += (text.empty() ? "" : "&") + name + "=" + value;
  }
  return text;
}

std::string sigv4_time(std::time_t time) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts)};
}

std::string sigv4_authorization(const SigV4Request& request, const SigV4Scope& scope,
                                std::time_t time) {
  static constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
  const std::string date_time = sigv4_time(time);
  const std::string date = date_time.substr(0, 8);
  const Pairs headers = canonical_headers(request.headers);
  const std::string place = date + "/" + scope.region + "/" + scope.service + "/aws4_request";
  const std::string to_sign = std::string(kAlgorithm) + "\n" + date_time + "\n" + place + "\n" +
                              sha256_of(canonical_request(request, headers));
  Digest key = hmac_sha256(bytes_of("AWS4" + scope.secret_key), date);
  key = hmac_sha256(key, scope.region);
  key = hmac_sha256(key, scope.service);
  key = hmac_sha256(key, "aws4_request");
  return std::string(kAlgorithm) + " Credential=" + scope.access_key + "/" + place +
         ", SignedHeaders=" + signed_names(headers) +
         ", Signature=" + hex(hmac_sha256(key, to_sign));
}

}  // namespace recordpipe
