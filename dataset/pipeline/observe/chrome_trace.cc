// Keeps events in memory and converts them to JSON at the end.
#include "recordpipe/pipeline/chrome_trace.h"

#include <cerrno>

#include <nlohmann/json.hpp>
#include <sys/syscall.h>
#include <unistd.h>

namespace recordpipe {
namespace {

uint32_t this_thread() {
  thread_local const auto id = static_cast<uint32_t>(::syscall(SYS_gettid));
  return id;
}

double microseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

ChromeTrace::ChromeTrace(size_t max_events)
    : max_events_(max_events), start_(std::chrono::steady_clock::now()) {}

ChromeTrace::Name ChromeTrace::name(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  names_.emplace_back(text);
  const auto number = static_cast<Name>(names_.size() - 1);
  numbers_.emplace(text, number);
  return number;
}

void ChromeTrace::add(Name event, Name category, Time begin, Time end) {
  const uint32_t thread = this_thread();
  const std::lock_guard lock(mutex_);
  if (events_.size() >= max_events_) {
    ++dropped_;
    return;
  }
  events_.push_back({event, category, thread, begin, end});
}

void ChromeTrace::name_thread(std::string_view text) {
  const std::lock_guard lock(mutex_);
  threads_.try_emplace(this_thread(), text);
}

size_t ChromeTrace::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

std::string ChromeTrace::json() const {
  using Json = nlohmann::json;
  const auto text_of = [](const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  const std::lock_guard lock(mutex_);
  const auto process = static_cast<int64_t>(::getpid());
  std::string out = R"({"displayTimeUnit":"ms",)";
  if (dropped_ > 0) out += R"("dropped_events":)" + std::to_string(dropped_) + ",";
  out += R"("traceEvents":[)";
  const char* separator = "\n";
  const auto append = [&](const Json& event) {
    out += separator + text_of(event);
    separator = ",\n";
  };
  const auto append_name = [&](const char* of, uint32_t thread, const std::string& name) {
    append(
        {{"ph", "M"}, {"name", of}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
  };
  append_name("process_name", static_cast<uint32_t>(process), program_invocation_short_name);
  std::map<uint32_t, std::string> threads = threads_;
  for (const Event& event : events_) threads.try_emplace(event.thread, "worker");
  for (const auto& [thread, name] : threads) append_name("thread_name", thread, name);
  for (const Event& event : events_) {
    append({{"ph", "X"},
            {"name", names_[event.name]},
            {"cat", names_[event.category]},
            {"pid", process},
            {"tid", event.thread},
            {"ts", microseconds(event.begin - start_)},
            {"dur", microseconds(event.end - event.begin)}});
  }
  return out + "\n]}\n";
}

}  // namespace recordpipe
