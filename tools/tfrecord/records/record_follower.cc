#include "tools/tfrecord/records/record_follower.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include <fmt/format.h>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/base/stop.h"
#include "tools/tfrecord/io/inputs.h"

namespace recordpipe {
namespace {

constexpr std::chrono::milliseconds kPollInterval(200);
constexpr size_t kBytesToCompare = 64;

}  // namespace

RecordFollower::RecordFollower(const CommandContext& context, const std::string& path,
                               const RecordReadOptions& reading)
    : context_(context), path_(path), reading_(reading) {
  if (!is_url(path)) open();
  if (!file_ && !is_url(path) && !is_read_once(context.files, path)) {
    context.files.open_random(path);  // says what is wrong
  }
  if (!file_ || detect_compression(*file_, reading_) != Compression::none) {
    throw UsageError("--follow is for an uncompressed file of this machine");
  }
}

void RecordFollower::open() {
  headers_.reset();
  file_ = open_random_input(work_of(context_), path_);
  if (file_) headers_.emplace(*file_, reading_, offset_);
}

std::optional<RecordFollower::Entry> RecordFollower::next() {
  std::optional<RecordIndexEntry> place;
  try {
    place = headers_->read();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::truncated) throw;
    // Its writer isn't done with the record.
  }
  if (!place) return std::nullopt;
  offset_ = place->end();
  return Entry{*place, number_++};
}

std::vector<std::byte> RecordFollower::bytes_before() const {
  std::vector<std::byte> bytes(std::min<uint64_t>(offset_, kBytesToCompare));
  const uint64_t begin = offset_ - bytes.size();
  bytes.resize(file_->read(begin, bytes.size(), bytes).size());
  return bytes;
}

NumberedRecord RecordFollower::read(const Entry& entry) {
  data_ = {};  // so that memory never holds two records
  data_ = read_indexed_record(*file_, entry.place, reading_);
  return {{.data = data_, .offset = entry.place.offset, .path = path_}, entry.number};
}

void RecordFollower::wait() {
  std::mutex mutex;
  std::condition_variable_any stopped;
  const uint64_t size = file_->size();
  const std::vector<std::byte> before = bytes_before();
  do {
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, context_.stop, kPollInterval, [] { return false; });
    throw_if_stopped(context_.stop, path_);
    open();
    if (file_ && file_->size() < size) {
      throw Error({.kind = ErrorKind::corrupted,
                   .path = path_,
                   .reason = fmt::format("was {} bytes long, and has become smaller", size)});
    }
    if (file_ && bytes_before() == before) continue;
    throw Error({.kind = ErrorKind::corrupted,
                 .path = path_,
                 .reason = "was removed, replaced or rewritten while it was followed"});
  } while (file_->size() == size);
}

}  // namespace recordpipe
