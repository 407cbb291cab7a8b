// Mapped files that outlive the stages that opened them, because elements may point into them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <typeindex>
#include <utility>

#include "recordpipe/file.h"

namespace recordpipe::internal {

// Files of the inputs of an interleave, kept by its stage, or files that a cache has read, kept by
// the cache. A file that is opened repeatedly is kept once, so the number of files bounds the cost:
// address space. Thread-safe.
class OpenFiles {
 public:
  // Every file kept here is also kept by `outer`, unless that is null.
  explicit OpenFiles(std::shared_ptr<OpenFiles> outer = nullptr) : outer_(std::move(outer)) {}

  // Keeps `file`, opened at `path`. If the same version of it (version_of(), and how it was opened)
  // is kept already, returns that one, which must be used instead.
  template <class File>
  std::shared_ptr<const File> keep(const FileSystem& file_system, const std::string& path,
                                   std::string version, std::shared_ptr<const File> file) {
    if (outer_) file = outer_->keep(file_system, path, version, std::move(file));
    const std::lock_guard lock(mutex_);
    const auto kept =
        files_.try_emplace({typeid(File), &file_system, path, std::move(version)}, file).first;
    return std::static_pointer_cast<const File>(kept->second);
  }

 private:
  using Key = std::tuple<std::type_index, const FileSystem*, std::string, std::string>;

  const std::shared_ptr<OpenFiles> outer_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const void>> files_;
};

}  // namespace recordpipe::internal
