#include "dataset/object_store/upload.h"

#include <algorithm>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxParts = 10'000;  // the limit of the services
constexpr size_t kKept = size_t{16} << 10;

}  // namespace

ObjectUpload::ObjectUpload(std::unique_ptr<UploadRequests> requests,
                           const ObjectStoreOptions& options)
    : requests_(std::move(requests)),
      part_size_(std::max<size_t>(options.part_size, 1)),
      parts_in_flight_(std::max<size_t>(options.parts_in_flight, 1)) {
  outer_stop_.emplace(options.http.http.stop, Relay{stop_});
}

ObjectUpload::~ObjectUpload() {
  stop_.request_stop();
  // Waits: a part that arrives after the end would stay.
  for (const SentPart& sent : sending_) sent.request->settle();
  if (!upload_.id.empty()) requests_->abort(upload_);
}

void ObjectUpload::write(std::span<const std::byte> data) {
  while (!data.empty()) {
    if (part_.size() == part_size_) send_part();
    const size_t count = std::min(data.size(), part_size_ - part_.size());
    part_.append(reinterpret_cast<const char*>(data.data()), count);
    data = data.subspan(count);
  }
}

void ObjectUpload::finish() {
  if (upload_.id.empty() && part_.size() <= kKept) return;
  if (!part_.empty()) send_part();
  wait_until(0);
}

void ObjectUpload::commit() {
  if (upload_.id.empty()) {
    requests_->put(std::make_shared<const std::string>(std::move(part_)), stop_.get_token());
    return;
  }
  if (!part_.empty()) send_part();
  wait_until(0);
  requests_->complete(upload_, parts_, stop_.get_token());
  upload_.id.clear();
}

void ObjectUpload::send_part() {
  wait_until(parts_in_flight_ - 1);
  const size_t number = parts_.size() + sending_.size() + 1;
  if (number > kMaxParts) {
    throw Error({.kind = ErrorKind::limit_exceeded,
                 .path = requests_->object().text(),
                 .reason = "an object has at most 10000 parts of " + std::to_string(part_size_) +
                           " bytes each",
                 .hint = "split the output into several objects"});
  }
  if (upload_.id.empty()) upload_ = requests_->begin(stop_.get_token());
  auto body = std::make_shared<const std::string>(std::exchange(part_, {}));
  sending_.push_back(requests_->start_part(upload_, number, std::move(body)));
}

void ObjectUpload::wait_until(size_t count) {
  while (sending_.size() > count) {
    SentPart sent = std::move(sending_.front());
    sending_.pop_front();
    parts_.push_back(requests_->finish_part(std::move(sent), stop_.get_token()));
  }
}

}  // namespace recordpipe
