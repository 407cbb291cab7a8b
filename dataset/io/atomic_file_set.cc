#include "recordpipe/atomic_file_set.h"

#include <string>

#include "recordpipe/error.h"

namespace recordpipe {

// The lock of the first file is released last: until then no other process may write these partial
// files.
AtomicFileSet::~AtomicFileSet() {
  while (!files_.empty()) files_.pop_back();
}

ByteSink& AtomicFileSet::begin(const std::string& path) {
  finish_last();
  files_.push_back(files_.empty()
                       ? std::make_unique<AtomicFile>(file_system_, path)
                       : std::make_unique<AtomicFile>(file_system_, path, *files_.front()));
  return *files_.back();
}

void AtomicFileSet::finish_last() {
  if (!files_.empty()) files_.back()->finish();
}

void AtomicFileSet::commit(std::span<const std::string> paths) {
  if (paths.size() != files_.size()) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = std::to_string(paths.size()) + " names for " +
                           std::to_string(files_.size()) + " files"});
  }
  finish_last();
  for (; !files_.empty(); files_.pop_back()) files_.back()->commit_as(paths[files_.size() - 1]);
}

}  // namespace recordpipe
