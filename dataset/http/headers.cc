#include "dataset/http/headers.h"

#include <algorithm>
#include <charconv>

#include "dataset/base/lower_case.h"

namespace recordpipe {
namespace {

// Parses and removes a decimal number at the start of `text`.
std::optional<uint64_t> take_number(std::string_view& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

std::optional<ContentRange> parse_content_range(std::string_view text) {
  const std::string lowered = lower_case(text);
  std::string_view rest = lowered;
  ContentRange range;
  if (!take(rest, "bytes ")) return std::nullopt;
  if (!take(rest, "*")) {
    const auto first = take_number(rest);
    const bool dash = take(rest, "-");
    const auto last = take_number(rest);
    if (!first || !dash || !last || *last < *first) return std::nullopt;
    range.bytes = {*first, *last};
  }
  if (!take(rest, "/")) return std::nullopt;
  if (!take(rest, "*")) {
    range.total = take_number(rest);
    if (!range.total || (range.bytes && range.bytes->last >= *range.total)) return std::nullopt;
  }
  return rest.empty() ? std::optional(range) : std::nullopt;
}

bool is_strong_etag(std::string_view text) {
  return text.size() >= 2 && text.size() <= 1024 && text.front() == '"' && text.back() == '"' &&
         std::all_of(text.begin() + 1, text.end() - 1,
                     [](char c) { return c > ' ' && c < 0x7f && c != '"'; });
}

std::string validator_of(std::string_view etag, std::string_view last_modified,
                         std::string_view date) {
  static constexpr std::time_t kSafeAge = 60;
  if (is_strong_etag(etag)) return std::string(etag);
  // The text is stored and sent back to the server, but the date parser ignores unknown characters.
  if (!std::ranges::all_of(last_modified, [](char c) { return c >= ' ' && c < 0x7f; })) return "";
  const auto modified = parse_http_date(last_modified);
  const auto sent = parse_http_date(date);
  if (!modified || !sent || *modified > *sent - kSafeAge) return "";
  return std::string(last_modified);
}

std::optional<PartOfFile> matching_part(const HttpResponse& response, uint64_t first,
                                        std::optional<uint64_t> total,
                                        const std::string& validator) {
  const auto range = parse_content_range(response.content_range);
  const bool fits = range && range->bytes && range->total && range->bytes->first == first &&
                    (!total || total == range->total) &&
                    (!response.content_length ||
                     *response.content_length - 1 == range->bytes->last - range->bytes->first);
  const bool same =
      !is_strong_etag(response.etag) || !is_strong_etag(validator) || response.etag == validator;
  if (!fits || !same) return std::nullopt;
  return PartOfFile{range->bytes->first, range->bytes->last, *range->total};
}

std::optional<bool> looks_like_html(std::span<const std::byte> head) {
  static constexpr std::string_view kStarts[] = {"<!doctype html", "<html", "<head", "<!--"};
  static constexpr size_t kLongestBlank = 512;
  const std::string lowered = lower_case(
      {reinterpret_cast<const char*>(head.data()), std::min(head.size(), kLongestBlank)});
  std::string_view text = lowered;
  static constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.size() < kByteOrderMark.size() && kByteOrderMark.starts_with(text)) return std::nullopt;
  take(text, kByteOrderMark);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  if (text.empty()) return head.size() < kLongestBlank ? std::nullopt : std::optional(false);
  for (const std::string_view start : kStarts) {
    if (text.starts_with(start)) return true;
    if (start.starts_with(text)) return std::nullopt;
  }
  return false;
}

bool is_html_type(std::string_view content_type) {
  std::string type = lower_case(content_type.substr(0, content_type.find(';')));
  while (!type.empty() && is_space(type.back())) type.pop_back();
  return type == "text/html" || type == "application/xhtml+xml";
}

}  // namespace recordpipe
