#include "dataset/object_store/listing.h"

#include <algorithm>
#include <iterator>

#include "dataset/base/parse_number.h"
#include "dataset/object_store/requests/small_request.h"
#include "dataset/object_store/requests/uri_encode.h"
#include "dataset/object_store/requests/xml.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/stop.h"

namespace recordpipe {
namespace {

constexpr std::string_view kRoot = "/ListBucketResult/";

Error bad_listing(const std::string& reason) {
  return Error({.kind = ErrorKind::corrupted,
                .reason = "the server's answer is no listing: " + reason,
                .hint = "check the endpoint"});
}

uint64_t parse_size(const std::string& text) {
  if (const auto size = parse_number<uint64_t>(text)) return *size;
  throw bad_listing("a size");
}

}  // namespace

ListingPage parse_listing(std::string_view document) {
  ListingPage page;
  ListedObject object;
  bool is_encoded = false;
  bool is_truncated = false;
  bool is_listing = false;
  XmlReader xml(document);
  while (xml.next()) {
    if (xml.event() == XmlReader::Event::start) {
      if (xml.path() == "/ListBucketResult/Contents") object = {};
      continue;
    }
    std::string_view path = xml.path();
    if (path == "/ListBucketResult") is_listing = true;
    if (!path.starts_with(kRoot)) continue;
    path.remove_prefix(kRoot.size());
    if (path == "Contents/Key") {
      object.key = xml.text();
    } else if (path == "Contents/Size") {
      object.size = parse_size(xml.text());
    } else if (path == "Contents/ETag") {
      object.etag = xml.text();
    } else if (path == "Contents") {
      page.listing.objects.push_back(std::move(object));
    } else if (path == "CommonPrefixes/Prefix") {
      page.listing.folders.push_back(xml.text());
    } else if (path == "EncodingType") {
      is_encoded = xml.text() == "url";
    } else if (path == "IsTruncated") {
      is_truncated = xml.text() == "true";
    } else if (path == "NextContinuationToken") {
      page.next = xml.text();
    }
  }
  if (!is_listing) throw bad_listing("another document");
  if (!is_truncated) page.next.clear();
  if (is_truncated && page.next.empty()) throw bad_listing("a page without a continuation token");
  if (is_encoded) {
    for (ListedObject& listed : page.listing.objects) listed.key = uri_decode(listed.key);
    for (std::string& folder : page.listing.folders) folder = uri_decode(folder);
  }
  return page;
}

ObjectListing list_objects(ObjectStore& store, const ObjectUrl& prefix, ListDepth depth,
                           const HttpReadOptions& options, HttpClient& client) {
  ObjectListing all;
  std::string token;
  // XML can't represent all keys, so the server is asked to encode them.
  ObjectRequest request{.object = {.scheme = prefix.scheme, .bucket = prefix.bucket}};
  while (true) {
    throw_if_stopped(options.http.stop, prefix.text());
    request.query = {{"encoding-type", "url"}, {"list-type", "2"}};
    if (!prefix.key.empty()) request.query.emplace_back("prefix", prefix.key);
    if (depth == ListDepth::folder) request.query.emplace_back("delimiter", "/");
    if (!token.empty()) request.query.emplace_back("continuation-token", token);
    ListingPage page;
    try {
      const SmallAnswer answer = send_small(store, request, options, client, options.http.stop);
      if (answer.response.status != 200) throw bad_listing(std::to_string(answer.response.status));
      page = parse_listing(answer.body);
      if (!page.next.empty() && page.next == token) throw bad_listing("the same page again");
    } catch (const Error& error) {
      if (!error.path().empty()) throw;
      Error::Parts parts = error.parts();
      parts.path = prefix.text();
      throw Error(std::move(parts));
    }
    std::ranges::move(page.listing.objects, std::back_inserter(all.objects));
    std::ranges::move(page.listing.folders, std::back_inserter(all.folders));
    if (all.objects.size() + all.folders.size() > kMaxListed) {
      throw Error({.kind = ErrorKind::limit_exceeded,
                   .path = prefix.text(),
                   .reason = "more than 10 million objects",
                   .hint = "give a longer prefix"});
    }
    if (page.next.empty()) break;
    token = page.next;
  }
  std::ranges::sort(all.objects, {}, &ListedObject::key);
  std::ranges::sort(all.folders);
  return all;
}

}  // namespace recordpipe
