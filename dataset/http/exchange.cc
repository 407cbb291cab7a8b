#include "dataset/http/exchange.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "dataset/base/lower_case.h"
#include "dataset/http/client_state.h"
#include "dataset/http/loop.h"
#include "dataset/http/transfer.h"
#include "recordpipe/stop.h"

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

}  // namespace

struct HttpExchange::State {
  State(HttpClient::State& client, const HttpRequest& request, size_t ahead)
      : loop(client.loop()),
        transfer(std::make_shared<Transfer>(request, client.options, client.limit, ahead)) {
    loop->start(transfer);
  }
  ~State() { loop->end(transfer); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Waits until `is_true` of the transfer. Returns the lock.
  template <typename Condition>
  std::unique_lock<std::mutex> wait(const Condition& is_true,
                                    const std::function<void()>& on_tick) {
    const std::stop_token& stop = transfer->options->stop;
    auto ticked = std::chrono::steady_clock::now();
    std::unique_lock lock(transfer->mutex);
    while (true) {
      const bool is_there = transfer->changed.wait_for(lock, stop, kTick, is_true);
      if (stop.stop_requested()) throw_if_stopped(stop, transfer->request.url.shown());
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

  const std::shared_ptr<HttpLoop> loop;
  const std::shared_ptr<Transfer> transfer;
  std::exception_ptr failure;
};

HttpExchange::HttpExchange(HttpClient& client, HttpRequest request, size_t ahead)
    : client_(client),
      request_(std::move(request)),
      first_url_(request_.url),
      ahead_(ahead),
      state_(new State(*client.state_, request_, ahead)) {}

HttpExchange::~HttpExchange() = default;

const HttpResponse& HttpExchange::head(const std::function<void()>& on_tick) {
  while (true) {
    Transfer& transfer = *state_->transfer;
    {
      const auto lock = state_->wait([&] { return transfer.head || transfer.has_ended; }, on_tick);
      if (transfer.head) return *transfer.head;  // not changed any more
      state_->throw_failure();
    }
    follow();
  }
}

void HttpExchange::follow() {
  HttpUrl next = *state_->transfer->redirect;
  const int most = client_.state_->options->max_redirects;
  if (++redirects_ > most) {
    throw Error({.kind = ErrorKind::network,
                 .path = first_url_.shown(),
                 .reason = "redirected more than " + std::to_string(most) +
                           " times, the last time to " + printable(next.shown()),
                 .hint = "the server is misconfigured: check the URL"});
  }
  request_.url = std::move(next);
  if (!request_.url.has_same_origin(first_url_)) std::erase_if(request_.headers, is_secret);
  state_.reset(new State(*client_.state_, request_, ahead_));
}

bool HttpExchange::next(std::vector<std::byte>& piece, const std::function<void()>& on_tick) {
  Transfer& transfer = *state_->transfer;
  piece.clear();
  bool was_paused = false;
  const auto go_on = [&] {
    was_paused = std::exchange(transfer.is_paused, false);
    return was_paused;
  };
  {
    const std::lock_guard lock(transfer.mutex);
    transfer.ahead = std::max(transfer.ahead, kPiece);
    if (transfer.arrived.empty()) go_on();
  }
  if (std::exchange(was_paused, false)) state_->loop->resume(state_->transfer);
  {
    const auto lock =
        state_->wait([&] { return !transfer.arrived.empty() || transfer.has_ended; }, on_tick);
    if (transfer.arrived.empty()) {
      state_->throw_failure();
      return false;
    }
    std::swap(piece, transfer.arrived);
    go_on();
  }
  if (was_paused) state_->loop->resume(state_->transfer);
  return true;
}

void HttpExchange::run(const HttpHandler& handler) {
  if (!handler.on_response(head(handler.on_tick))) return;
  std::vector<std::byte> piece;
  while (next(piece, handler.on_tick)) handler.on_body(piece);
}

}  // namespace recordpipe
