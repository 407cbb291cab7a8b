#include "recordpipe/io/atomic_file_set.h"

#include <algorithm>

#include "recordpipe/base/error.h"

namespace recordpipe {

class AtomicFileSet::Member final : public ByteSink {
 public:
  Member(AtomicFileSet& set, AtomicFile& file) : set_(set), file_(file) { make_room(); }
  ~Member() override { set_.open_.remove(&file_); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  void write(std::span<const std::byte> data) override {
    if (std::ranges::find(set_.open_, &file_) == set_.open_.end()) make_room();
    file_.write(data);
  }
  void close() override { file_.close(); }
  const std::string& path() const override { return file_.path(); }
  AtomicFile& file() { return file_; }

 private:
  void make_room() {
    if (set_.open_.size() == kMaxOpen) {
      set_.open_.front()->pause();
      set_.open_.pop_front();
    }
    set_.open_.push_back(&file_);
  }

  AtomicFileSet& set_;
  AtomicFile& file_;
};

AtomicFileSet::AtomicFileSet(FileSystem& file_system) : file_system_(file_system) {}

// The lock of the first file is released last: until then no other process may write these partial
// files.
AtomicFileSet::~AtomicFileSet() {
  unfinished_.clear();
  while (!files_.empty()) files_.pop_back();
}

ByteSink& AtomicFileSet::begin(const std::string& path) {
  finish_all();
  return begin_beside(path);
}

ByteSink& AtomicFileSet::begin_beside(const std::string& path) {
  files_.push_back(files_.empty()
                       ? std::make_unique<AtomicFile>(file_system_, path)
                       : std::make_unique<AtomicFile>(file_system_, path, *files_.front()));
  unfinished_.push_back(std::make_unique<Member>(*this, *files_.back()));
  return *unfinished_.back();
}

void AtomicFileSet::finish(ByteSink& file) {
  const auto member =
      std::ranges::find_if(unfinished_, [&](const auto& other) { return other.get() == &file; });
  (*member)->file().finish();
  unfinished_.erase(member);
}

void AtomicFileSet::finish_all() {
  while (!unfinished_.empty()) finish(*unfinished_.front());
}

void AtomicFileSet::commit(std::span<const std::string> paths) {
  if (paths.size() != files_.size()) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = std::to_string(paths.size()) + " names for " +
                           std::to_string(files_.size()) + " files"});
  }
  finish_all();
  for (; !files_.empty(); files_.pop_back()) files_.back()->commit_as(paths[files_.size() - 1]);
}

}  // namespace recordpipe
