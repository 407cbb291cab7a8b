// A request to one URL and its response: what the thread of HttpLoop and the one that waits share.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "dataset/http/request_limit.h"
#include "recordpipe/http/client.h"

namespace recordpipe {

struct Transfer {
  Transfer(HttpRequest given, std::shared_ptr<const HttpClientOptions> given_options,
           std::shared_ptr<RequestLimit> given_limit, size_t bytes_ahead)
      : request(std::move(given)),
        options(std::move(given_options)),
        limit(std::move(given_limit)),
        ahead(bytes_ahead) {}

  const HttpRequest request;
  const std::shared_ptr<const HttpClientOptions> options;
  const std::shared_ptr<RequestLimit> limit;  // null: none

  std::mutex mutex;                     // guards all members below
  std::condition_variable_any changed;  // notified by the loop
  std::optional<HttpResponse> head;
  std::optional<HttpUrl> redirect;  // the response's, if it is to be followed; then it has ended
  std::vector<std::byte> arrived;   // of the body
  // The transfer pauses when so many bytes have arrived.
  size_t ahead;
  bool is_paused = false;
  std::exception_ptr failure;  // after `arrived`
  bool has_ended = false;      // the loop doesn't use it any more
};

}  // namespace recordpipe
