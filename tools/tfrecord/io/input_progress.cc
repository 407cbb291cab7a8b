#include "tools/tfrecord/io/input_progress.h"

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>

#include "dataset/toolkit/files/file_work.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/io/inputs.h"

namespace recordpipe {
namespace {

constexpr uint64_t kBytesBetweenSigns = uint64_t{256} << 10;
// With more URLs, the total is unknown: finding the size of each URL takes an HTTP request.
constexpr std::ptrdiff_t kMaxUrls = 8;

std::optional<uint64_t> size_of_all(const CommandContext& context,
                                    const std::vector<std::string>& paths) {
  if (!context.progress.draws()) return std::nullopt;
  if (std::ranges::count_if(paths, is_url) > kMaxUrls) return std::nullopt;
  uint64_t sum = 0;
  for (const std::string& path : paths) {
    if (is_standard_input(path)) return std::nullopt;
    try {
      const auto size = regular_file_size(context.files, path);
      if (!size) return std::nullopt;
      sum += *size;
    } catch (const Error& error) {
      // If the file can't be read either, opening it reports the error.
      if (error.kind() == ErrorKind::cancelled) throw;
      return std::nullopt;
    }
  }
  return sum;
}

}  // namespace

struct InputProgress::State {
  TerminalProgress& progress;
  std::string activity;
  const std::optional<uint64_t> total;
  std::atomic<uint64_t> done = 0;

  void add(uint64_t bytes) {
    const uint64_t before = done.fetch_add(bytes, std::memory_order_relaxed);
    const uint64_t now = before + bytes;
    if (before / kBytesBetweenSigns == now / kBytesBetweenSigns) return;
    progress.update({.activity = activity, .done = now, .total = total});
  }
};

InputProgress::InputProgress(const CommandContext& context, const std::string& activity,
                             const std::vector<std::string>& paths)
    : InputProgress(context, activity, size_of_all(context, paths)) {}

InputProgress::InputProgress(const CommandContext& context, const std::string& activity,
                             std::optional<uint64_t> total)
    : state_(new State{.progress = context.progress, .activity = activity, .total = total}) {
  state_->progress.begin(activity);
}

InputProgress::~InputProgress() { state_->progress.clear(); }

void InputProgress::begin_again(const std::string& activity) {
  state_->activity = activity;
  state_->done = 0;
  state_->progress.begin(activity);
}

void InputProgress::add(uint64_t bytes) { state_->add(bytes); }

std::function<void(uint64_t bytes)> InputProgress::counter() {
  return [state = state_](uint64_t bytes) { state->add(bytes); };
}

std::unique_ptr<ByteSource> InputProgress::counted(std::unique_ptr<ByteSource> source) {
  return tapped(std::move(source),
                [state = state_](std::span<const std::byte> bytes) { state->add(bytes.size()); });
}

}  // namespace recordpipe
