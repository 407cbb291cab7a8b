// The thread that moves the bytes of all HTTP transfers of the process.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "dataset/http/transfer/curl_transfer.h"
#include "dataset/http/transfer/libcurl.h"
#include "dataset/http/transfer/transfer.h"
#include "dataset/parallel/service_thread.h"

namespace recordpipe {

// Drives one multi handle of libcurl, whose connections, names and certificates are kept for later
// requests of any client. Each transfer has a connection of its own: requests for the same file
// would share one with HTTP/2. The functions are thread-safe and don't wait, but for end().
class HttpLoop {
 public:
  // Makes it if no client has one. A child made by fork() gets its own.
  static std::shared_ptr<HttpLoop> of_process();

  HttpLoop();
  ~HttpLoop();  // no transfers may be left
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  // Sends the request as soon as its limit allows.
  void start(std::shared_ptr<Transfer> transfer);
  // Goes on after a pause.
  void resume(std::shared_ptr<Transfer> transfer);
  // Ends the transfer, and waits until it has ended. Closes the connection unless the whole
  // response has arrived.
  void end(std::shared_ptr<Transfer> transfer);

 private:
  struct Command {
    enum class Kind { start, resume, end } kind;
    std::shared_ptr<Transfer> transfer;
  };
  struct CloseMulti {
    void operator()(CURLM* multi) const { libcurl().multi_cleanup(multi); }
  };
  struct CloseEasy {
    void operator()(CURL* easy) const { libcurl().easy_cleanup(easy); }
  };

  void send(Command command);
  // The thread.
  void run(const std::stop_token& stop);
  void obey(const Command& command);
  void begin_waiting();
  void begin(const std::shared_ptr<Transfer>& transfer, RequestLimit::Running running);
  void take_results();
  void check_progress();
  void finish(Transfer* transfer, std::exception_ptr failure);

  const std::unique_ptr<CURLM, CloseMulti> multi_;
  std::mutex mutex_;  // guards commands_
  std::vector<Command> commands_;
  // Used by the thread only.
  std::deque<std::shared_ptr<Transfer>> waiting_;  // for their limits, in the order of start()
  std::map<Transfer*, std::unique_ptr<CurlTransfer>> running_;
  std::vector<std::unique_ptr<CURL, CloseEasy>> idle_;
  parallel::ServiceThread thread_;  // last: uses the others
};

}  // namespace recordpipe
