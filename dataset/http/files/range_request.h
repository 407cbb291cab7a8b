// Reads ranges of the file at a URL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "dataset/http/target.h"
#include "dataset/io/ranged_file.h"
#include "recordpipe/http/file_system.h"

namespace recordpipe {

// What identifies the file that was opened.
struct RangeVersion {
  uint64_t total = 0;          // size of the file
  std::string validator = {};  // of validator_of(); "" for none
};

// One range: sent by the constructor, and received with one or more requests, because a transfer
// that was cut off continues where it ended. Every response must be for the file that was opened:
// it must have the same size and, if the server sends one, the same strong ETag.
class RangeRequest final : public RequestedRange {
 public:
  // `version`: empty for the first request for a file. The references must be valid as long as this
  // object. A failure to send shows in receive().
  RangeRequest(const HttpTarget& target, const HttpReadOptions& options, HttpClient& client,
               uint64_t first, size_t size, const std::optional<RangeVersion>& version = {});
  // Retries. Throws Error{unsupported} if the server does not support range requests,
  // Error{network} if the file has changed. `bytes` are fewer than `size` only in the first
  // request, at the file's end.
  void receive() override;

  // The result of receive(). An empty file has no validator.
  RangeVersion version() const { return {total_.value_or(0), validator_}; }

 private:
  std::unique_ptr<HttpReply> send();
  void fetch();
  bool take(const HttpResponse& response, uint64_t begin);
  void take(std::span<const std::byte> piece);
  bool nothing_there();
  void refuse_whole_file(const HttpResponse& response) const;

  const HttpTarget& target_;
  HttpClient& client_;
  const uint64_t first_;
  std::span<std::byte> out_;  // of `bytes`
  const std::stop_token stop_;
  std::optional<uint64_t> total_;
  std::string validator_;
  HttpRetry retry_;
  uint64_t last_ = 0;
  size_t filled_ = 0;
  std::unique_ptr<HttpReply> started_;
};

// The file at a URL.
class HttpRanges final : public RangedFile {
 public:
  // Requests the first `size` bytes.
  HttpRanges(HttpTarget target, const HttpReadOptions& options, std::shared_ptr<HttpClient> client,
             size_t size);
  // Waits for them, and returns them. Must be called once, before the other functions. Throws as
  // RangeRequest.
  std::vector<std::byte> open();

  std::unique_ptr<RequestedRange> request(uint64_t offset, size_t size) const override;
  uint64_t size() const override { return version_.total; }
  const std::string& version() const override { return version_.validator; }
  const std::string& path() const override { return target_.url.shown(); }

 private:
  const HttpTarget target_;
  const HttpReadOptions options_;
  const std::shared_ptr<HttpClient> client_;
  RangeVersion version_;
  std::unique_ptr<RangeRequest> first_;  // null when the file is open
};

RangeOptions range_options(const HttpReadOptions& options);
// What a stream requests first.
size_t first_range(const HttpReadOptions& options);

}  // namespace recordpipe
