#include "python/native/unlisted.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>

#include "recordpipe/error.h"
#include "recordpipe/internal/fork.h"

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
constexpr size_t kMostShown = 10;

std::string text_of(const std::string& feature, const UnlistedFeatures::Count& count) {
  std::string text = feature + " of " + std::to_string(count.records) +
                     (count.records == 1 ? " record" : " records");
  if (count.path.empty()) return text;
  return text + ", " + (count.records == 1 ? "in " : "first in ") + printable(count.path) +
         " at offset " + std::to_string(count.offset);
}

// The text of a warning for each that has counted something.
std::vector<std::string> take_texts() {
  std::vector<std::string> texts;
  Registry& all = counting();
  const std::lock_guard lock(all.mutex);
  for (const auto& watcher : all.watching) {
    const UnlistedFeatures::Counts counts = watcher->take();
    if (counts.empty()) continue;
    std::string text;
    size_t shown = 0;
    for (const auto& [feature, count] : counts) {
      if (shown++ == kMostShown) break;
      text += (text.empty() ? "" : "; ") + text_of(feature, count);
    }
    if (counts.size() > kMostShown) {
      text += "; and " + std::to_string(counts.size() - kMostShown) + " other features";
    }
    const UnlistedFeatures::Options& options = watcher->options();
    texts.push_back("left out, because the first " + std::to_string(options.looked_into) +
                    " records don't have it: " + text + " (" + options.hint + ")");
  }
  std::erase_if(all.watching, [](const auto& watcher) { return watcher.use_count() == 1; });
  return texts;
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

void warn_of_unlisted() {
  for (const std::string& text : take_texts()) {
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw nb::python_error();
  }
}

void write_unlisted() noexcept {
  const nb::error_scope pending;
  try {
    warn_of_unlisted();
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("recordpipe.Iterator");
  } catch (const std::exception&) {  // no memory
  }
}

}  // namespace recordpipe::python
