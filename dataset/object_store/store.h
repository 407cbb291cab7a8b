// Sends the requests for objects: addressed and authorised for one service, and refused in the
// service's own words.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataset/http/target.h"
#include "dataset/object_store/object_url.h"
#include "dataset/object_store/requests/service_error.h"
#include "recordpipe/http/client.h"

namespace recordpipe {

using ObjectHeaders = std::vector<std::pair<std::string, std::string>>;

struct ObjectRequest {
  ObjectUrl object = {};  // with an empty key: the bucket, to list it
  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> query = {};
  ObjectHeaders headers = {};
  std::shared_ptr<const std::string> body = {};  // null: none
  // Statuses that are returned although they are errors.
  std::vector<long> accepted = {};
  // Whether the body of a 200 may be an error: the answer to CompleteMultipartUpload begins before
  // the service knows its end.
  bool late_errors = false;
};

// What identifies an object that was written, if the answer to the last request was lost.
struct WrittenContent {
  std::string etag = {};  // with its quotes
  uint32_t crc32c = 0;
};

// A request that is ready to be sent, and what is needed to judge its failure.
struct AuthorisedRequest {
  HttpRequest request;
  bool anonymous = false;
  std::vector<std::string> secrets = {};  // must not be in a message
};

// The request that is sent to `url`, without its headers. Redirects are not followed: a credential
// must not be sent elsewhere.
HttpRequest request_to(const std::string& url, const ObjectRequest& request);

// Thread-safe.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // Sends a request through `send`. The reply has the responses 2xx, 412, 416 and those of
  // request.accepted; for any other, head() throws: TransientError; Error{not_found},
  // {permission_denied} or {network}, whose reason has the service's code and message. A request
  // whose credential has expired, or that belongs to another region, is sent once more. The store
  // must outlive the reply.
  std::unique_ptr<HttpReply> send(ObjectRequest request, HttpSend send);

  // What differs in the requests that write.

  // The condition that there is no object of this name.
  virtual ObjectHeaders if_new() const = 0;
  // Whether that condition is possible for objects that are written in parts.
  virtual bool has_conditional_multipart() const = 0;
  // The checksum of a body or part, which the service compares.
  virtual ObjectHeaders checksum(uint32_t crc32c) const = 0;
  // Announces the checksums of parts when a multipart upload begins; empty: it isn't announced, and
  // the completion does not repeat the checksums.
  virtual ObjectHeaders checksum_of_parts() const = 0;
  // Whether the object of this response to a GET is `content`.
  virtual bool is_content(const HttpResponse& response, const WrittenContent& content) const = 0;

 protected:
  virtual std::string name() const = 0;  // "S3"
  virtual AuthorisedRequest authorise(const ObjectRequest& request) = 0;
  // Whether the request may succeed if it is authorised once more.
  virtual bool renew(const AuthorisedRequest& sent, const ObjectRequest& request,
                     const HttpResponse& response, const ServiceError& error) = 0;
  // What to do about a refused request.
  virtual std::string hint(const AuthorisedRequest& sent, const ServiceError& error) const = 0;

 private:
  class Reply;

  [[noreturn]] void refuse(const AuthorisedRequest& sent, const ObjectRequest& request,
                           const HttpResponse& response, ServiceError error) const;
};

// CRC-32C in the form of headers: base64 of its four bytes, the highest one first.
std::string crc32c_text(uint32_t crc);

// The target of requests for one object.
HttpTarget object_target(std::shared_ptr<ObjectStore> store, const ObjectUrl& object);

}  // namespace recordpipe
