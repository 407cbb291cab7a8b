#include "dataset/pipeline/operators/sources/streams_ahead.h"

#include <algorithm>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe::internal {

std::unique_ptr<ByteSource> StreamsAhead::open_now(const std::string& path) const {
  auto source = file_system_.open_source(path);
  // The file that is read, and those that are read ahead.
  if (read_ahead_) source->limit_read_ahead(*read_ahead_ / 2 / (1 + kPrefetched));
  return source;
}

void StreamsAhead::Opening::prefetch() {
  const std::lock_guard lock(mutex);
  is_wanted = true;
  if (source) source->prefetch();
}

std::unique_ptr<ByteSource> StreamsAhead::open(const std::string& path,
                                               std::span<const std::string> next) {
  const auto found = std::ranges::find(files_, path, &File::path);
  for (auto file = files_.begin(); file != found; ++file) {
    // In this order: the one waits for the other.
    if (file->examined.valid()) (void)file->examined.drop();
    (void)file->opened.drop();
  }
  files_.erase(files_.begin(), found);
  if (files_.empty()) begin(path);
  File file = std::move(files_.front());
  files_.pop_front();
  file.opening->prefetch();
  for (const std::string& wanted : next.first(std::min(next.size(), most_opened()))) {
    if (std::ranges::find(files_, wanted, &File::path) == files_.end()) begin(wanted);
  }
  file.opened.wait();
  examine(file);
  for (size_t i = 0; i < std::min(files_.size(), kPrefetched); ++i) files_[i].opening->prefetch();
  if (!files_.empty()) examine(files_.front());
  if (file.examined.valid()) file.examined.wait();
  std::unique_ptr<ByteSource> source = std::move(file.opening->source);
  if (!source) source = open_now(path);
  if (const auto& fingerprint = file.opening->fingerprint) {
    fingerprints_->opened(file_system_, path, *fingerprint);
  } else {
    fingerprints_->opened(file_system_, path);
  }
  return source;
}

size_t StreamsAhead::most_opened() const {
  if (!read_ahead_) return kOpened;
  return static_cast<size_t>(std::clamp<uint64_t>(*read_ahead_ / 2 / kFirstBytes, 1, kOpened));
}

void StreamsAhead::begin(const std::string& path) {
  const auto opening = std::make_shared<Opening>();
  const bool is_known = fingerprints_->was_opened(file_system_, path);
  // A file system that can't be told to stop takes the stop request from the thread.
  const auto opened = jobs_.submit([this, path, opening, is_known] {
    try {
      auto source = open_now(path);
      const std::lock_guard lock(opening->mutex);
      auto random = is_known ? nullptr : source->random_access();
      if (random && random->size() <= kFirstBytes) {
        opening->fingerprint = fingerprint_of(path, *random);  // requests nothing
      } else {
        opening->random = std::move(random);
      }
      if (opening->is_wanted) source->prefetch();
      opening->source = std::move(source);
    } catch (...) {
      // open() tries again, and reports the failure.
    }
  });
  files_.push_back({path, opening, is_known, opened, {}});
}

void StreamsAhead::examine(File& file) {
  if (file.is_known || file.examined.valid()) return;
  if (file.opened.is_done() && file.opening->fingerprint) return;
  file.examined =
      jobs_.submit([this, path = file.path, opening = file.opening, opened = file.opened] {
        opened.wait();
        if (!opening->source || opening->fingerprint) return;
        try {
          opening->fingerprint = opening->random ? fingerprint_of(path, *opening->random)
                                                 : fingerprint_of(file_system_, path);
        } catch (const Error&) {
          // FileFingerprints tries again.
        }
      });
}

}  // namespace recordpipe::internal
