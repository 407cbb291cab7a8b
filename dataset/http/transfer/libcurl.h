// The functions of libcurl. A shared libcurl is loaded when it is needed: with the 27 libraries
// that it needs itself, it would take a third of the time in which a program starts.
#pragma once

#include <curl/curl.h>

#define RECORDPIPE_LIBCURL_FUNCTIONS(F) \
  F(easy_cleanup)                       \
  F(easy_getinfo)                       \
  F(easy_header)                        \
  F(easy_init)                          \
  F(easy_nextheader)                    \
  F(easy_pause)                         \
  F(easy_reset)                         \
  F(easy_setopt)                        \
  F(easy_strerror)                      \
  F(free)                               \
  F(getdate)                            \
  F(global_init)                        \
  F(multi_add_handle)                   \
  F(multi_cleanup)                      \
  F(multi_info_read)                    \
  F(multi_init)                         \
  F(multi_perform)                      \
  F(multi_poll)                         \
  F(multi_remove_handle)                \
  F(multi_setopt)                       \
  F(multi_wakeup)                       \
  F(slist_append)                       \
  F(slist_free_all)                     \
  F(url)                                \
  F(url_cleanup)                        \
  F(url_get)                            \
  F(url_set)                            \
  F(url_strerror)                       \
  F(version_info)

namespace recordpipe {

// Without "curl_": libcurl().easy_init is curl_easy_init.
struct LibCurl {
#define RECORDPIPE_LIBCURL_FUNCTION(name) decltype(&::curl_##name) name;
  RECORDPIPE_LIBCURL_FUNCTIONS(RECORDPIPE_LIBCURL_FUNCTION)
#undef RECORDPIPE_LIBCURL_FUNCTION
};

// Thread-safe. Throws Error if there is no libcurl.
const LibCurl& libcurl();

}  // namespace recordpipe
