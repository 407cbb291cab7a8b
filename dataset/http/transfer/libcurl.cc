#include "dataset/http/transfer/libcurl.h"

#include <string>
#include <type_traits>

#include <dlfcn.h>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

#ifdef RECORDPIPE_SHARED_LIBCURL  // its name

Error refusal() {
  return Error({.kind = ErrorKind::unsupported,
                .path = RECORDPIPE_SHARED_LIBCURL,
                .reason = std::string("can't be loaded, and is needed for URLs: ") + dlerror(),
                .hint = "install libcurl (Debian: package libcurl4)"});
}

LibCurl load() {
  void* const library = dlopen(RECORDPIPE_SHARED_LIBCURL, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw refusal();
  LibCurl found;
  const auto find = [library](const char* name, auto& function) {
    void* const address = dlsym(library, name);
    if (address == nullptr) throw refusal();
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
#define RECORDPIPE_LIBCURL_FUNCTION(name) find("curl_" #name, found.name);
  RECORDPIPE_LIBCURL_FUNCTIONS(RECORDPIPE_LIBCURL_FUNCTION)
#undef RECORDPIPE_LIBCURL_FUNCTION
  return found;
}

#else

LibCurl load() {
  return {
#define RECORDPIPE_LIBCURL_FUNCTION(name) .name = &::curl_##name,
      RECORDPIPE_LIBCURL_FUNCTIONS(RECORDPIPE_LIBCURL_FUNCTION)
#undef RECORDPIPE_LIBCURL_FUNCTION
  };
}

#endif

}  // namespace

const LibCurl& libcurl() {
  static const LibCurl loaded = load();
  return loaded;
}

}  // namespace recordpipe
