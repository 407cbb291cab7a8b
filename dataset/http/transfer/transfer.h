// A request to one URL and its response: what the thread of HttpLoop and the one that waits share.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dataset/http/transfer/request_limit.h"
#include "recordpipe/http/client.h"

namespace recordpipe {

struct Transfer {
  Transfer(HttpRequest given, std::shared_ptr<const HttpClientOptions> given_options,
           std::shared_ptr<RequestLimit> given_limit, size_t bytes_ahead,
           std::span<std::byte> given_sink)
      : request(std::move(given)),
        options(std::move(given_options)),
        limit(std::move(given_limit)),
        sink(given_sink),
        ahead(bytes_ahead) {}

  const HttpRequest request;
  const std::shared_ptr<const HttpClientOptions> options;
  const std::shared_ptr<RequestLimit> limit;  // null: none

  std::mutex mutex;                     // guards all members below
  std::condition_variable_any changed;  // notified by the loop
  std::optional<HttpResponse> head;
  std::optional<HttpUrl> redirect;  // the response's, if it is to be followed; then it has ended
  const std::span<std::byte> sink;  // the body's first bytes arrive here
  size_t filled = 0;                // bytes of `sink`
  std::vector<std::byte> arrived;   // of the body, behind those in `sink`
  // The transfer pauses when so many bytes have arrived.
  size_t ahead;
  bool is_paused = false;
  std::exception_ptr failure;  // after `arrived`
  bool has_ended = false;      // the loop doesn't use it any more
};

}  // namespace recordpipe
