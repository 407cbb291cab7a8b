#include "dataset/http/files/partial_download.h"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "dataset/http/headers.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/stop.h"

namespace recordpipe {
namespace {

using nlohmann::json;
constexpr size_t kLongestDescription = 64 * 1024;
constexpr size_t kReadSize = 1 << 20;

std::string sha256_of(const std::string& text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.hex();
}

// Whether `text` is valid in an If-Range header.
bool is_validator(const std::string& text) {
  return is_strong_etag(text) || !validator_of("", text, "Fri, 31 Dec 9999 23:59:59 GMT").empty();
}

}  // namespace

PartialDownload::PartialDownload(FileSystem& file_system, const std::string& target,
                                 const std::string& url, const std::stop_token& stop)
    : file_system_(file_system),
      target_(file_system.resolve_link(target)),
      part_path_(target_ + ".part"),
      meta_path_(target_ + ".part.meta"),
      url_hash_(sha256_of(url)) {
  require_replaceable(file_system_, target_);
  lock_ = file_system_.lock(part_path_);
  take_up(stop);
}

PartialDownload::~PartialDownload() {
  if (gone_) return;
  try {
    // Not size_: a failed write may have written some bytes.
    if (const auto status = file_system_.status(part_path_); status && status->size > 0) return;
    remove_files();
  } catch (...) {
    // An empty file may stay; the next download uses it.
  }
}

void PartialDownload::take_up(const std::stop_token& stop) {
  const std::unique_ptr<ByteSource> source = file_system_.open_source(part_path_);
  std::vector<std::byte> buffer(kReadSize);
  while (const size_t count = source->read(buffer)) {
    throw_if_stopped(stop, part_path_);
    hash_.update(std::span(buffer).first(count));
    size_ += count;
  }
  if (size_ == 0) return;
  joined_ = true;
  origin_ = read_description();
}

std::optional<PartialDownload::Origin> PartialDownload::read_description() const {
  if (!file_system_.status(meta_path_)) return std::nullopt;
  std::vector<std::byte> bytes;
  try {
    bytes = read_all(*file_system_.open_source(meta_path_), kLongestDescription);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::limit_exceeded) throw;
    return std::nullopt;
  }
  // If the description is truncated, damaged or of another URL, the origin of the part is unknown.
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const json description = json::parse(text, text + bytes.size(), nullptr, false);
  if (!description.is_object() || description.value("url_sha256", json()) != url_hash_) {
    return std::nullopt;
  }
  Origin origin;
  const json validator = description.value("validator", json());
  if (validator.is_string() && is_validator(validator)) origin.validator = validator;
  const json total = description.value("total", json());
  if (total.is_number_unsigned()) origin.total = total;
  return origin;
}

void PartialDownload::write_description() const {
  json description{{"url_sha256", url_hash_}, {"validator", origin_->validator}};
  if (origin_->total) description["total"] = *origin_->total;
  const std::string text = description.dump(2) + "\n";
  const std::unique_ptr<OutputFile> file = file_system_.create(meta_path_, CreateMode::truncate);
  file->write(std::as_bytes(std::span(text)));
  file->sync();
  file->close();
}

void PartialDownload::open(CreateMode mode) {
  file_ = file_system_.create(part_path_, mode);
  file_->copy_permissions(target_);
}

void PartialDownload::restart(Origin origin) {
  open(CreateMode::truncate);
  hash_ = Sha256();
  size_ = 0;
  joined_ = false;
  origin_ = std::move(origin);
  // The truncation is synced before the new description is written: after a power loss, an old part
  // must not be beside a new description.
  file_->sync();
  write_description();
}

void PartialDownload::append(std::span<const std::byte> data) {
  try {
    if (!file_) open(CreateMode::append);
    file_->write(data);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::no_space) throw;
    throw Error(
        {.kind = error.kind(),
         .path = error.path(),
         .offset = size_,
         .reason = error.reason(),
         .hint = "free some space and run again to resume, or remove " + printable(part_path_)});
  }
  hash_.update(data);
  size_ += data.size();
}

void PartialDownload::commit() {
  if (!file_) open(CreateMode::append);
  file_->sync();
  file_->close();
  // The description is removed before the rename, so that a process killed in between leaves no
  // stale description beside a finished download.
  file_system_.remove(meta_path_);
  file_system_.rename(part_path_, target_);
  gone_ = true;
  file_system_.sync_directory(parent_directory(target_));
}

void PartialDownload::discard() {
  file_.reset();
  remove_files();
  gone_ = true;
}

void PartialDownload::remove_files() {
  file_system_.remove(meta_path_);
  file_system_.remove(part_path_);
}

}  // namespace recordpipe
