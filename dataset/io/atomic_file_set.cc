#include "recordpipe/atomic_file_set.h"

#include "recordpipe/error.h"

namespace recordpipe {

// The first one's lock goes last: until then nobody else may write partial files of these names.
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
                 .reason = "not as many names as files that were begun"});
  }
  finish_last();
  for (; !files_.empty(); files_.pop_back()) files_.back()->commit_as(paths[files_.size() - 1]);
}

}  // namespace recordpipe
