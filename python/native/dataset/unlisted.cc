#include "python/native/dataset/unlisted.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/fork.h"

namespace recordpipe::python {
namespace {

// Those that count. Never destroyed: passes may end while the process exits.
struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<UnlistedFeatures>> watching;
  const internal::AfterFork after_fork{[this] {
    if (!internal::renew(mutex)) internal::renew_without_destruction(watching);
  }};
};

Registry& counting() {
  static auto* const all = new Registry;
  return *all;
}

// The features that a warning names.
constexpr size_t kMaxShown = 10;

std::string text_of(const std::string& feature, const UnlistedFeatures::Count& count) {
  std::string text = feature + " of " + std::to_string(count.records) +
                     (count.records == 1 ? " record" : " records");
  if (count.path.empty()) return text;
  return text + ", " + (count.records == 1 ? "in " : "first in ") + printable(count.path) +
         " at offset " + std::to_string(count.offset);
}

// Takes what was counted, and returns the text of a warning of it; "" for nothing.
std::string take_text(UnlistedFeatures& watcher) {
  const UnlistedFeatures::Counts counts = watcher.take();
  if (counts.empty()) return {};
  std::string text;
  size_t shown = 0;
  for (const auto& [feature, count] : counts) {
    if (shown++ == kMaxShown) break;
    text += (text.empty() ? "" : "; ") + text_of(feature, count);
  }
  if (counts.size() > kMaxShown) {
    text += "; and " + std::to_string(counts.size() - kMaxShown) + " other features";
  }
  const UnlistedFeatures::Options& options = watcher.options();
  return "left out, because the first " + std::to_string(options.looked_into) +
         " records don't have it: " + text + " (" + options.hint + ")";
}

// Those that count; the ones that never will again are dropped.
std::vector<std::shared_ptr<UnlistedFeatures>> watching() {
  Registry& all = counting();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.watching, [](const auto& watcher) {
    return watcher.use_count() == 1 && !watcher->has_counts();
  });
  return all.watching;
}

// Calls warn(text) for each that has counted something.
template <class Warn>
void warn_of_each(Warn warn) {
  for (const auto& watcher : watching()) {
    const std::string text = take_text(*watcher);
    if (!text.empty()) warn(text);
  }
}

void warn_of_text(const std::string& text) {
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw nb::python_error();
}

}  // namespace

std::shared_ptr<UnlistedFeatures> watch_of(nb::handle options) {
  using Answer = UnlistedFeatures::Answer;
  if (options.is_none()) return nullptr;
  const auto parts = nb::cast<nb::tuple>(options);
  UnlistedFeatures::Options all{.looked_into = nb::cast<uint64_t>(parts[1]),
                                .hint = nb::cast<std::string>(parts[3])};
  for (const nb::handle name : parts[0]) all.known.insert(nb::cast<std::string>(name));
  if (nb::cast<bool>(parts[2])) all.answer = Answer::count;
  auto watcher = std::make_shared<UnlistedFeatures>(std::move(all));
  if (watcher->options().answer == Answer::count) {
    const std::lock_guard lock(counting().mutex);
    counting().watching.push_back(watcher);
  }
  return watcher;
}

bool has_unlisted() {
  Registry& all = counting();
  const std::lock_guard lock(all.mutex);
  for (const auto& watcher : all.watching) {
    if (watcher->has_counts()) return true;
  }
  return false;
}

void warn_of_unlisted() { warn_of_each(warn_of_text); }

void write_unlisted() noexcept {
  const nb::error_scope pending;
  try {
    warn_of_each([](const std::string& text) {
      try {
        warn_of_text(text);
      } catch (nb::python_error& error) {
        error.discard_as_unraisable("recordpipe.Iterator");
      }
    });
  } catch (const std::exception&) {  // no memory
  }
}

}  // namespace recordpipe::python
