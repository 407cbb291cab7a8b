// Parses any bytes as the XML of a listing and of an error, as a profile, and as the name of an
// object: nothing but Error{corrupted} and Error{invalid_argument} is thrown, and encoding inverts.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dataset/object_store/aws/profile.h"
#include "dataset/object_store/listing.h"
#include "dataset/object_store/object_url.h"
#include "dataset/object_store/requests/service_error.h"
#include "dataset/object_store/requests/uri_encode.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void check_input(std::string_view input) {
  try {
    size_t size = 0;
    for (const ListedObject& object : parse_listing(input).listing.objects) {
      size += object.key.size() + object.etag.size();
    }
    require(size <= input.size(), "a listing with more text than its document");
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::corrupted, "another error of a listing");
  }
  const ServiceError error = parse_service_error(input);
  require(error.region.empty() || is_region(error.region), "a region that is none");
  parse_profiles(input);
  require(uri_decode(uri_encode(input, Slashes::encode)) == input, "decoded to other bytes");
  try {
    const ObjectUrl url = parse_object_url("s3://" + std::string(input));
    require(url.bucket.find_first_of("/:@?#") == std::string::npos, "a bucket that is a host");
  } catch (const Error& refused) {
    require(refused.kind() == ErrorKind::invalid_argument, "another error of a name");
  }
}

}  // namespace
}  // namespace recordpipe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  recordpipe::check_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
