// Counts the elements and the damage that an iterator has skipped, and keeps the first errors.
#pragma once

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/ignore_errors.h"
#include "recordpipe/pipeline/internal/ticket.h"

namespace recordpipe::internal {

// An error that ends its source, with what is lost by that, in words.
class LostRest final : public Error {
 public:
  LostRest(const Error& error, std::string loss) : Error(error), loss_(std::move(loss)) {}
  const std::string& loss() const { return loss_; }

 private:
  std::string loss_;
};

// Shared by the stages of one iteration, which write, and their iterator, which reads. Thread-safe.
class SkipLog {
 public:
  void add(const Error& error) {
    const std::lock_guard lock(mutex_);
    add_locked(skipped_element(error));
  }

  // A source was lost by `error`: the element `id` stands for it (lost_sources.h).
  void keep_lost(const ElementId& id, const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const Error& cause) {
      const std::lock_guard lock(mutex_);
      if (lost_.size() < SkippedReport::kMaxFirst) lost_.emplace_back(id, skipped_element(cause));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      not_skipped_.push_back(id);
    }
  }

  // Whether such an element has an error that ignore_errors doesn't skip.
  bool is_not_skipped(const ElementId& id) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::find(not_skipped_, id) != not_skipped_.end();
  }

  // Adds the error of such an element. Returns false if it is not known.
  bool add_lost(const ElementId& id) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(lost_, id, &std::pair<ElementId, SkippedElement>::first);
    if (found == lost_.end()) return false;
    add_locked(found->second);
    return true;
  }

  // The number of one more source: what each leaves out counts.
  uint64_t add_source() {
    const std::lock_guard lock(mutex_);
    return sources_++;
  }

  // `damage`: in file `number` of a source, from its start up to where it is read. If the source
  // reads it again, that adds nothing.
  void keep_damage(uint64_t source, size_t number, const std::string& path,
                   const DamageSkipped& damage) {
    const std::lock_guard lock(mutex_);
    DamageSkipped& known = damaged_[{path, source, number}];
    if (known.regions < damage.regions) known = damage;
  }

  SkippedReport report() const {
    const std::lock_guard lock(mutex_);
    SkippedReport report = report_;
    std::set<std::string_view> paths;
    for (const auto& [file, damage] : damaged_) {
      paths.insert(std::get<std::string>(file));
      report.damage.merge(damage);
    }
    report.damaged_files = paths.size();
    return report;
  }

 private:
  static SkippedElement skipped_element(const Error& error) {
    std::string reason = error.reason();
    if (const auto* ending = dynamic_cast<const LostRest*>(&error)) {
      reason += "; " + ending->loss();
    }
    return {error.path(), error.offset(), std::move(reason)};
  }

  void add_locked(SkippedElement element) {
    ++report_.count;
    if (report_.first.size() == SkippedReport::kMaxFirst) return;
    report_.first.push_back(std::move(element));
  }

  mutable std::mutex mutex_;
  SkippedReport report_;
  std::vector<std::pair<ElementId, SkippedElement>> lost_;  // the first ones
  std::vector<ElementId> not_skipped_;
  uint64_t sources_ = 0;
  // By path, source and number in the source.
  std::map<std::tuple<std::string, uint64_t, size_t>, DamageSkipped> damaged_;
};

}  // namespace recordpipe::internal
