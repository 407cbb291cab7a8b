#include "dataset/http/transfer/loop.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "dataset/base/per_process.h"
#include "dataset/parallel/task_context.h"

namespace recordpipe {
namespace {

constexpr std::chrono::milliseconds kCheckPeriod{100};
constexpr std::chrono::milliseconds kIdlePeriod{60'000};
constexpr long kKeptConnections = 256;

CURLM* new_multi() {
  static const CURLcode result = libcurl().global_init(CURL_GLOBAL_DEFAULT);
  CURLM* const multi = result == CURLE_OK ? libcurl().multi_init() : nullptr;
  if (multi == nullptr) throw std::bad_alloc();
  libcurl().multi_setopt(multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  libcurl().multi_setopt(multi, CURLMOPT_MAXCONNECTS, kKeptConnections);
  return multi;
}

// The loop of the process, while a client has it.
internal::PerProcess<std::weak_ptr<HttpLoop>>& process_loop() {
  // Never destroyed: threads may use it when the process ends.
  static auto& loop = *new internal::PerProcess<std::weak_ptr<HttpLoop>>;
  return loop;
}

// Before main(), or when the library is loaded: fork() must not happen while it is made.
[[maybe_unused]] const auto& process_loop_made = process_loop();

}  // namespace

std::shared_ptr<HttpLoop> HttpLoop::of_process() {
  return process_loop().get(std::make_shared<HttpLoop>);
}

HttpLoop::HttpLoop() : multi_(new_multi()) {
  const parallel::TaskContextScope none({});  // not that of the pass that happens to be the first
  thread_ = parallel::ServiceThread("rp-http", [this](const std::stop_token& stop) { run(stop); });
}

HttpLoop::~HttpLoop() = default;

void HttpLoop::start(std::shared_ptr<Transfer> transfer) {
  send({Command::Kind::start, std::move(transfer)});
}

void HttpLoop::resume(std::shared_ptr<Transfer> transfer) {
  send({Command::Kind::resume, std::move(transfer)});
}

void HttpLoop::end(std::shared_ptr<Transfer> transfer) {
  {
    const std::lock_guard lock(transfer->mutex);
    if (transfer->has_ended) return;
  }
  send({Command::Kind::end, transfer});
  std::unique_lock lock(transfer->mutex);
  transfer->changed.wait(lock, [&] { return transfer->has_ended; });
}

void HttpLoop::send(Command command) {
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back(std::move(command));
  }
  libcurl().multi_wakeup(multi_.get());
}

void HttpLoop::run(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] { libcurl().multi_wakeup(multi_.get()); });
  auto checked = CurlTransfer::Clock::now();
  while (!stop.stop_requested()) {
    std::vector<Command> commands;
    {
      const std::lock_guard lock(mutex_);
      std::swap(commands, commands_);
    }
    for (const Command& command : commands) obey(command);
    begin_waiting();
    const size_t begun = running_.size();
    int unused = 0;
    libcurl().multi_perform(multi_.get(), &unused);
    take_results();
    if (const auto now = CurlTransfer::Clock::now(); now - checked >= kCheckPeriod) {
      checked = now;
      check_progress();
    }
    if (running_.size() < begun && !waiting_.empty()) continue;  // there may be room now
    const auto pause = running_.empty() ? kIdlePeriod : kCheckPeriod;
    libcurl().multi_poll(multi_.get(), nullptr, 0, static_cast<int>(pause.count()), nullptr);
  }
}

void HttpLoop::obey(const Command& command) {
  Transfer* const transfer = command.transfer.get();
  const auto running = running_.find(transfer);
  switch (command.kind) {
    case Command::Kind::start:
      waiting_.push_back(command.transfer);
      return;
    case Command::Kind::resume:
      if (running != running_.end()) running->second->resume();
      return;
    case Command::Kind::end:
      if (running == running_.end()) std::erase(waiting_, command.transfer);
      finish(transfer, nullptr);
      return;
  }
}

// In order, and those of one client don't wait for another's.
void HttpLoop::begin_waiting() {
  std::erase_if(waiting_, [this](const std::shared_ptr<Transfer>& transfer) {
    RequestLimit::Running running;
    if (transfer->limit && !(running = transfer->limit->begin())) return false;
    begin(transfer, std::move(running));
    return true;
  });
}

void HttpLoop::begin(const std::shared_ptr<Transfer>& transfer, RequestLimit::Running running) {
  const auto at = running_.emplace(transfer.get(), nullptr).first;
  std::unique_ptr<CURL, CloseEasy> easy;
  if (idle_.empty()) {
    easy.reset(libcurl().easy_init());
  } else {
    easy = std::move(idle_.back());
    idle_.pop_back();
  }
  std::exception_ptr failure;
  try {
    if (!easy) throw std::bad_alloc();
    at->second =
        std::make_unique<CurlTransfer>(multi_.get(), easy.get(), transfer, std::move(running));
    (void)easy.release();
    return;
  } catch (...) {
    failure = std::current_exception();
  }
  finish(transfer.get(), std::move(failure));
}

void HttpLoop::take_results() {
  int left = 0;
  while (const CURLMsg* const message = libcurl().multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode result = message->data.result;
    char* pointer = nullptr;
    libcurl().easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &pointer);
    auto* const done = reinterpret_cast<CurlTransfer*>(pointer);
    std::exception_ptr failure;
    try {
      done->finish(result);
    } catch (...) {
      failure = std::current_exception();
    }
    finish(done->transfer().get(), std::move(failure));
  }
}

void HttpLoop::check_progress() {
  const auto now = CurlTransfer::Clock::now();
  for (auto at = running_.begin(); at != running_.end();) {
    const auto& [transfer, running] = *at++;  // finish() erases it
    std::exception_ptr failure;
    try {
      running->check_progress(now);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) finish(transfer, std::move(failure));
  }
}

// Keeps no reference to the failure: the one that is told of it destroys it.
void HttpLoop::finish(Transfer* transfer, std::exception_ptr failure) {
  std::shared_ptr<Transfer> kept;  // until it is unlocked
  if (const auto at = running_.find(transfer); at != running_.end()) {
    if (at->second) {
      kept = at->second->transfer();
      std::unique_ptr<CURL, CloseEasy> easy(at->second->easy());
      at->second.reset();
      idle_.push_back(std::move(easy));
    }
    running_.erase(at);
  }
  const std::lock_guard lock(transfer->mutex);
  transfer->failure = std::move(failure);
  transfer->has_ended = true;
  transfer->changed.notify_all();
}

}  // namespace recordpipe
