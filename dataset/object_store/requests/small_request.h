// Sends requests whose answers are small documents, with retries.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>

#include "dataset/object_store/store.h"
#include "recordpipe/http/file_system.h"

namespace recordpipe {

// The largest answer.
inline constexpr size_t kLargestAnswer = size_t{16} << 20;

struct SmallAnswer {
  HttpResponse response;
  std::string body = {};
};

// A request that is sent when it is made, and whose answer is received until finish().
//
// An earlier attempt may have been carried out although its answer was lost; the client also
// repeats a request itself if the server closes a connection that was idle.
class SmallRequest {
 public:
  // The references must be valid as long as this object. A failure to send shows in finish().
  SmallRequest(ObjectStore& store, ObjectRequest request, const HttpReadOptions& options,
               HttpClient& client);

  // Retries. Throws the errors of ObjectStore::send(), and Error{limit_exceeded} for an answer of
  // more than kLargestAnswer. `stop` ends waits and further attempts, beside options.http.stop,
  // which also ends transfers.
  SmallAnswer finish(const std::stop_token& stop);
  // Waits for the answer to the first attempt, and ignores it.
  void settle() noexcept;

 private:
  std::unique_ptr<HttpReply> send() const;
  SmallAnswer finish_once(HttpRetry& retry);

  ObjectStore& store_;
  const ObjectRequest request_;
  const HttpReadOptions& options_;
  HttpClient& client_;
  std::unique_ptr<HttpReply> started_;
};

// Sends a request, and waits for its answer.
SmallAnswer send_small(ObjectStore& store, ObjectRequest request, const HttpReadOptions& options,
                       HttpClient& client, const std::stop_token& stop);

}  // namespace recordpipe
