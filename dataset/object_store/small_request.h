// Sends requests whose answers are small documents, with retries.
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>

#include "dataset/http/client_pool.h"
#include "dataset/object_store/store.h"
#include "recordpipe/http/file_system.h"

namespace recordpipe {

// The largest answer.
inline constexpr size_t kLargestAnswer = size_t{16} << 20;

struct SmallAnswer {
  HttpResponse response;
  std::string body = {};
};

// An earlier attempt may have been carried out although its answer was lost; the client also
// repeats a request itself if the server closes a connection that was idle.
//
// Throws the errors of ObjectStore::send(), and Error{limit_exceeded} for an answer of more than
// kLargestAnswer. `stop` ends waits and further attempts, beside options.http.stop, which also ends
// transfers.
SmallAnswer send_small(ObjectStore& store, const ObjectRequest& request,
                       const HttpReadOptions& options, HttpClientPool& clients,
                       const std::stop_token& stop);

}  // namespace recordpipe
