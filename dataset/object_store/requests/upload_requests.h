// The requests that write one object: PutObject, or a multipart upload of S3, which Cloud Storage's
// XML API has as well.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "dataset/object_store/requests/small_request.h"
#include "dataset/object_store/store.h"
#include "recordpipe/http/file_system.h"

namespace recordpipe {

enum class Replacing {
  allowed,
  refused,  // Error{already_exists} if there is an object of this name
};

struct UploadedPart {
  std::string etag = {};
  uint32_t crc32c = 0;
  uint64_t size = 0;
};

// A part on its way.
struct SentPart {
  UploadedPart part;  // without its ETag
  std::unique_ptr<SmallRequest> request = {};
};

// A multipart upload that was begun.
struct BegunUpload {
  std::string id = {};  // "" for none
  bool has_checksums = false;
};

// All functions retry, throw the errors of ObjectStore::send(), and are thread-safe. `stop` ends
// waits and further attempts.
class UploadRequests {
 public:
  UploadRequests(std::shared_ptr<ObjectStore> store, ObjectUrl object,
                 const HttpReadOptions& options, std::shared_ptr<HttpClient> client,
                 Replacing replacing);

  const ObjectUrl& object() const { return object_; }

  // Writes the object with one request.
  void put(std::shared_ptr<const std::string> body, const std::stop_token& stop) const;

  BegunUpload begin(const std::stop_token& stop) const;
  // `number` counts from 1. The part must not outlive this object.
  SentPart start_part(const BegunUpload& upload, size_t number,
                      std::shared_ptr<const std::string> body) const;
  UploadedPart finish_part(SentPart sent, const std::stop_token& stop) const;
  // The object appears.
  void complete(const BegunUpload& upload, const std::vector<UploadedPart>& parts,
                const std::stop_token& stop) const;
  // Removes the parts. Also works after a stop request. A failure is ignored: there may be no
  // network.
  void abort(const BegunUpload& upload) const noexcept;

 private:
  SmallAnswer send(ObjectRequest request, const std::stop_token& stop) const;
  ObjectRequest request(std::string method) const;
  // Whether the object that is there now is the one that was written.
  bool is_there(const WrittenContent& content, const std::stop_token& stop) const;
  // Whether there is no such object.
  bool is_absent(const std::stop_token& stop) const;
  Error already_there() const;

  const std::shared_ptr<ObjectStore> store_;
  const ObjectUrl object_;
  const HttpReadOptions options_;
  const std::shared_ptr<HttpClient> client_;
  const Replacing replacing_;
};

// The ETag that S3 gives an object of these parts; "" if the parts' ETags have another form, or if
// there is no MD5.
std::string multipart_etag(const std::vector<UploadedPart>& parts);

}  // namespace recordpipe
