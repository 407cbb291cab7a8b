// Keeps mapped files open longer than the stages that opened them, because elements may point into
// the files.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <typeindex>
#include <utility>

#include "dataset/pipeline/plan/skip_log.h"
#include "dataset/pipeline/plan/stage_context.h"
#include "recordpipe/io/file.h"

namespace recordpipe::internal {

// The stage of an interleave keeps the files of its inputs; a cache keeps the files that it has
// read. A file that is opened repeatedly is kept once, so the number of files bounds the address
// space used. Thread-safe.
class OpenFiles {
 public:
  // Every file kept here is also kept by `outer`, unless `outer` is null.
  explicit OpenFiles(std::shared_ptr<OpenFiles> outer = nullptr) : outer_(std::move(outer)) {}

  // Keeps `file`, opened at `path`, and returns it. If the same version of it (version_of()) with
  // the same type File is already kept, returns the kept object, which must be used instead.
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

// For the datasets that an operator opens while it runs: their elements stay valid as long as the
// iterator, also after a dataset is closed. Their damage is that of one source, which reads a file
// again in each epoch.
inline StageContext context_of_inputs(const StageContext& context) {
  StageContext inputs = context.unmonitored();
  if (!inputs.open_files) inputs.open_files = std::make_shared<OpenFiles>();
  if (!inputs.source) inputs.source = inputs.skipped->add_source();
  return inputs;
}

}  // namespace recordpipe::internal
