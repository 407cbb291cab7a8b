// Lists the objects of a bucket by prefix, in pages (ListObjectsV2, which Cloud Storage's XML API
// has as well).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/object_store/store.h"
#include "recordpipe/http/file_system.h"

namespace recordpipe {

struct ListedObject {
  std::string key = {};
  uint64_t size = 0;      // in bytes
  std::string etag = {};  // with its quotes, as in the header ETag
};

struct ObjectListing {
  std::vector<ListedObject> objects = {};  // sorted by key
  std::vector<std::string> folders = {};   // common prefixes, which end with a slash; sorted
};

enum class ListDepth {
  folder,  // objects whose key has no slash after the prefix; the others are grouped in folders
  all,     // all objects
};

// The most objects and folders of a listing.
inline constexpr size_t kMaxListed = 10'000'000;

// Lists the objects of the bucket whose keys start with that of `prefix`. One request for each 1000
// objects; failures are retried. Throws the errors of ObjectStore::send(); Error{corrupted} if an
// answer is not a listing, Error{limit_exceeded} for more than kMaxListed.
ObjectListing list_objects(ObjectStore& store, const ObjectUrl& prefix, ListDepth depth,
                           const HttpReadOptions& options, HttpClient& client);

// One page.
struct ListingPage {
  ObjectListing listing = {};
  std::string next = {};  // continuation token; "" for the last page
};

// Parses <ListBucketResult>. Throws Error{corrupted}, without a path.
ListingPage parse_listing(std::string_view document);

}  // namespace recordpipe
