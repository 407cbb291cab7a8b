#include "recordpipe/http/client.h"

#include <exception>
#include <iterator>
#include <mutex>

#include "dataset/base/lower_case.h"
#include "dataset/http/client_state.h"
#include "dataset/http/transfer/loop.h"
#include "dataset/http/transfer/transfer.h"
#include "recordpipe/base/stop.h"

namespace recordpipe {
namespace {

constexpr std::chrono::milliseconds kTick{100};
constexpr size_t kPiece = size_t{256} << 10;

// Whether a header line holds a credential.
bool is_secret(std::string_view line) {
  static constexpr std::string_view kSecret[] = {"authorization", "cookie", "x-amz-security-token"};
  return std::ranges::find(kSecret, lower_case(line.substr(0, line.find(':')))) !=
         std::end(kSecret);
}

// A transfer and the state of the thread that waits for it. A child made by fork() leaks it.
struct Exchange {
  Exchange(std::shared_ptr<HttpLoop> given_loop, std::shared_ptr<Transfer> given_transfer)
      : loop(std::move(given_loop)), transfer(std::move(given_transfer)) {
    loop->start(transfer);
  }
  ~Exchange() { loop->end(transfer); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Waits until `is_true` of the transfer. Returns the lock.
  template <typename Condition>
  std::unique_lock<std::mutex> wait(const Condition& is_true) {
    const std::stop_token& stop = transfer->options->stop;
    const auto& on_tick = transfer->options->on_tick;
    std::unique_lock lock(transfer->mutex);
    while (true) {
      const bool is_there = transfer->changed.wait_for(lock, stop, kTick, is_true);
      throw_if_stopped(stop, transfer->request.url.shown());
      throw_if_stopped(transfer->request.stop, transfer->request.url.shown());
      const auto now = std::chrono::steady_clock::now();
      if (on_tick && now - ticked >= kTick) {
        ticked = now;
        lock.unlock();
        on_tick();
        lock.lock();
      }
      if (is_there) return lock;
    }
  }

  // With the lock. The loop's thread must not destroy an exception that this one handles.
  void throw_failure() {
    if (transfer->failure) failure = std::exchange(transfer->failure, nullptr);
    if (failure) std::rethrow_exception(failure);
  }

  // With the lock.
  void resume() {
    if (std::exchange(transfer->is_paused, false)) loop->resume(transfer);
  }

  const std::shared_ptr<HttpLoop> loop;
  const std::shared_ptr<Transfer> transfer;
  std::exception_ptr failure = {};
  std::chrono::steady_clock::time_point ticked = {};
  size_t taken = 0;                   // bytes of the sink
  std::vector<std::byte> piece = {};  // the last one, if it isn't in the sink
};

}  // namespace

class HttpClient::Reply final : public HttpReply {
 public:
  Reply(State& client, HttpRequest request, size_t ahead, std::span<std::byte> sink)
      : client_(client),
        request_(std::move(request)),
        first_url_(request_.url),
        ahead_(ahead),
        sink_(sink) {
    start();
  }

  const HttpResponse& head() override {
    while (true) {
      Transfer& transfer = *exchange_->transfer;
      {
        const auto lock = exchange_->wait([&] { return transfer.head || transfer.has_ended; });
        if (transfer.head) return *transfer.head;  // not changed any more
        exchange_->throw_failure();
      }
      follow();
    }
  }

  std::span<const std::byte> next() override {
    Exchange& exchange = *exchange_;
    Transfer& transfer = *exchange.transfer;
    exchange.piece.clear();
    const auto is_there = [&] {
      return exchange.taken < transfer.filled || !transfer.arrived.empty() || transfer.has_ended;
    };
    {
      const std::lock_guard lock(transfer.mutex);
      transfer.ahead = std::max(transfer.ahead, kPiece);
      if (!is_there()) exchange.resume();
    }
    const auto lock = exchange.wait(is_there);
    if (exchange.taken < transfer.filled) {
      const auto piece = transfer.sink.first(transfer.filled).subspan(exchange.taken);
      exchange.taken = transfer.filled;
      return piece;
    }
    if (transfer.arrived.empty()) {
      exchange.throw_failure();
      return {};
    }
    std::swap(exchange.piece, transfer.arrived);
    exchange.resume();
    return exchange.piece;
  }

 private:
  void start() {
    exchange_.reset(new Exchange(
        client_.loop(),
        std::make_shared<Transfer>(request_, client_.options, client_.limit, ahead_, sink_)));
  }

  void follow() {
    HttpUrl next = *exchange_->transfer->redirect;
    const int most = client_.options->max_redirects;
    if (++redirects_ > most) {
      throw Error({.kind = ErrorKind::network,
                   .path = first_url_.shown(),
                   .reason = "redirected more than " + std::to_string(most) +
                             " times, the last time to " + printable(next.shown()),
                   .hint = "the server is misconfigured: check the URL"});
    }
    request_.url = std::move(next);
    if (!request_.url.has_same_origin(first_url_)) std::erase_if(request_.headers, is_secret);
    exchange_.reset();  // has ended: the sink is free
    start();
  }

  State& client_;
  HttpRequest request_;  // after redirects
  const HttpUrl first_url_;
  const size_t ahead_;
  const std::span<std::byte> sink_;
  int redirects_ = 0;
  std::unique_ptr<Exchange, internal::DeleteUnlessForked> exchange_;
};

HttpClient::HttpClient(HttpClientOptions options, std::optional<size_t> max_requests)
    : state_(new State{
          .options = std::make_shared<const HttpClientOptions>(std::move(options)),
          .limit = max_requests ? std::make_shared<RequestLimit>(*max_requests) : nullptr}) {}

HttpClient::~HttpClient() = default;

std::unique_ptr<HttpReply> HttpClient::send(HttpRequest request, size_t ahead,
                                            std::span<std::byte> sink) {
  return std::make_unique<Reply>(*state_, std::move(request), ahead, sink);
}

}  // namespace recordpipe
