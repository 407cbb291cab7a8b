// Carries out a Transfer with libcurl, on the thread of HttpLoop.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dataset/http/transfer/certificates.h"
#include "dataset/http/transfer/libcurl.h"
#include "dataset/http/transfer/transfer.h"

namespace recordpipe {

class CurlTransfer {
 public:
  using Clock = std::chrono::steady_clock;

  // Adds `easy` to `multi`. `running`: null without a limit. Throws TransientError or Error.
  CurlTransfer(CURLM* multi, CURL* easy, std::shared_ptr<Transfer> transfer,
               RequestLimit::Running running);
  // Removes it again, for the next transfer: it keeps its TLS sessions.
  ~CurlTransfer();
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  CURL* easy() const { return easy_; }
  const std::shared_ptr<Transfer>& transfer() const { return transfer_; }

  // Goes on after a pause.
  void resume();
  // Throws TransientError if too few bytes have moved. A paused transfer doesn't stall.
  void check_progress(Clock::time_point now);
  // Must be called when curl says that it is done, with the result. Throws TransientError or Error.
  void finish(CURLcode result);

 private:
  template <typename Value>
  void set(CURLoption option, Value value);
  void add_header(const char* line);
  void trust(const Certificates& certificates);
  static size_t write(char* data, size_t, size_t size, void* self) noexcept;
  // Returns how many bytes were taken, or a code of curl's.
  size_t take(std::span<const std::byte> bytes);
  void take_head();
  [[noreturn]] void fail(CURLcode code) const;

  struct FreeList {
    void operator()(curl_slist* list) const { libcurl().slist_free_all(list); }
  };

  CURLM* const multi_;
  CURL* const easy_;
  const std::shared_ptr<Transfer> transfer_;
  RequestLimit::Running running_;  // null while paused: others may run
  const size_t halvings_;          // of the limit, at the start
  std::unique_ptr<curl_slist, FreeList> headers_;
  char message_[CURL_ERROR_SIZE] = "";
  std::exception_ptr exception_;  // of write()
  bool has_head_ = false;
  bool is_redirect_ = false;
  uint64_t received_ = 0;
  uint64_t window_moved_ = 0;  // received and sent before the current window
  Clock::time_point window_start_ = Clock::now();
};

}  // namespace recordpipe
