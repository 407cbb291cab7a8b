// Reads a range of the file at a URL into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "dataset/http/target.h"
#include "recordpipe/http/file_system.h"

namespace recordpipe {

// What identifies the file that was opened.
struct RangeVersion {
  uint64_t total = 0;          // size of the file
  std::string validator = {};  // of validator_of(); "" for none
};

// Fills `out` with the bytes from `first` on, with one or more requests: a transfer that was cut
// off continues where it ended. Every response must be for the file that was opened: it must have
// the same size and, if the server sends one, the same strong ETag.
class RangeRequest {
 public:
  // `version`: empty for the first request for a file. The references and `out` must be valid as
  // long as this object.
  RangeRequest(const HttpTarget& target, const HttpReadOptions& options, HttpClient& client,
               uint64_t first, std::span<std::byte> out,
               const std::optional<RangeVersion>& version = {});
  // Sends the first request, whose response is received until run(), which also reports a failure.
  // Not needed before run().
  void start();
  // Retries. Throws Error{unsupported} if the server does not
  // support range requests, Error{network} if the file has changed. Then filled() bytes are valid.
  void run();

  // The results of run(). An empty file has no validator.
  RangeVersion version() const { return {total_.value_or(0), validator_}; }
  // The size of the range: smaller than out.size() only in the first request, at the file's end.
  size_t filled() const { return filled_; }

 private:
  std::unique_ptr<HttpReply> send();
  void fetch();
  bool take(const HttpResponse& response, uint64_t begin);
  void take(std::span<const std::byte> bytes);
  bool nothing_there();
  void refuse_whole_file(const HttpResponse& response) const;

  const HttpTarget& target_;
  HttpClient& client_;
  const uint64_t first_;
  std::span<std::byte> out_;
  const std::stop_token stop_;
  std::optional<uint64_t> total_;
  std::string validator_;
  HttpRetry retry_;
  uint64_t last_ = 0;
  size_t filled_ = 0;
  std::unique_ptr<HttpReply> started_;
};

}  // namespace recordpipe
