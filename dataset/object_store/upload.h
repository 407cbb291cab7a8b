// Writes an object that appears whole or not at all.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "dataset/object_store/requests/upload_requests.h"
#include "recordpipe/io/file.h"
#include "recordpipe/object_store/file_system.h"

namespace recordpipe {

// An object of at most one part is written with one request at commit(). A longer one is a
// multipart upload: parts are sent while the next ones are written, at most
// `options.parts_in_flight` at a time. Memory: a part more than that. finish() keeps at most 16 KiB
// in memory, so that many files can be finished before they are committed.
//
// The destructor ends the upload and removes its parts, unless commit() has returned.
class ObjectUpload final : public Upload {
 public:
  ObjectUpload(std::unique_ptr<UploadRequests> requests, const ObjectStoreOptions& options);
  ~ObjectUpload() override;

  void write(std::span<const std::byte> data) override;
  void finish() override;
  void commit() override;

 private:
  struct Relay {
    std::stop_source& stop;
    void operator()() const { stop.request_stop(); }
  };

  void send_part();
  // Waits until at most `count` parts are being sent. Throws the first failure.
  void wait_until(size_t count);

  const std::unique_ptr<UploadRequests> requests_;
  const size_t part_size_;
  const size_t parts_in_flight_;
  std::string part_;  // being written
  BegunUpload upload_ = {};
  std::vector<UploadedPart> parts_;
  std::stop_source stop_;
  std::optional<std::stop_callback<Relay>> outer_stop_;
  std::deque<SentPart> sending_;  // the parts that follow parts_
};

}  // namespace recordpipe
