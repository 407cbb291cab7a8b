#include "dataset/http/exchange.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataset/base/lower_case.h"
#include "dataset/http/client_state.h"
#include "dataset/http/loop.h"
#include "dataset/http/transfer.h"
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

}  // namespace

struct HttpExchange::State {
  State(HttpClient::State& client, const HttpRequest& request, size_t ahead,
        std::span<std::byte> sink)
      : loop(client.loop()),
        transfer(std::make_shared<Transfer>(request, client.options, client.limit, ahead, sink)) {
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

  // With the lock.
  void resume() {
    if (std::exchange(transfer->is_paused, false)) loop->resume(transfer);
  }

  const std::shared_ptr<HttpLoop> loop;
  const std::shared_ptr<Transfer> transfer;
  std::exception_ptr failure;
  std::chrono::steady_clock::time_point ticked = {};
  size_t taken = 0;              // bytes of the sink
  std::vector<std::byte> piece;  // the last one, if it isn't in the sink
};

HttpExchange::HttpExchange(HttpClient& client, HttpRequest request, size_t ahead,
                           std::span<std::byte> sink)
    : client_(client),
      request_(std::move(request)),
      first_url_(request_.url),
      ahead_(ahead),
      sink_(sink),
      state_(new State(*client.state_, request_, ahead, sink)) {}

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
  state_.reset();  // has ended: the sink is free
  state_.reset(new State(*client_.state_, request_, ahead_, sink_));
}

std::span<const std::byte> HttpExchange::next(const std::function<void()>& on_tick) {
  State& state = *state_;
  Transfer& transfer = *state.transfer;
  state.piece.clear();
  const auto is_there = [&] {
    return state.taken < transfer.filled || !transfer.arrived.empty() || transfer.has_ended;
  };
  {
    const std::lock_guard lock(transfer.mutex);
    transfer.ahead = std::max(transfer.ahead, kPiece);
    if (!is_there()) state.resume();
  }
  const auto lock = state.wait(is_there, on_tick);
  if (state.taken < transfer.filled) {
    const auto piece = transfer.sink.first(transfer.filled).subspan(state.taken);
    state.taken = transfer.filled;
    return piece;
  }
  if (transfer.arrived.empty()) {
    state.throw_failure();
    return {};
  }
  std::swap(state.piece, transfer.arrived);
  state.resume();
  return state.piece;
}

void HttpExchange::run(const HttpHandler& handler) {
  if (!handler.on_response(head(handler.on_tick))) return;
  while (true) {
    const std::span<const std::byte> piece = next(handler.on_tick);
    if (piece.empty()) return;
    handler.on_body(piece);
  }
}

}  // namespace recordpipe
