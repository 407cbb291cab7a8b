// The files that a Dataset reads, and writes that would replace them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataset/pipeline/observe/plan_description.h"
#include "python/native/dataset/dataset.h"
#include "python/native/files/file_path.h"
#include "python/native/files/python_file_system.h"
#include "recordpipe/base/internal/work_owner.h"

namespace recordpipe::python {

// Throws Error{invalid_argument} if one of the outputs, on `files`, is one of the files of the
// Dataset's sources. (What functions read, and the Datasets that they return, is unknown.) Needs
// the GIL, which it releases.
void require_not_read(const PythonDataset& dataset, const SharedFiles& files,
                      const std::vector<FilePath>& outputs);

// A write in progress, as a context manager: what its thread does meanwhile, and what the threads
// of passes do that begin there, is part of it and must not read the outputs.
class WriteInProgress {
 public:
  WriteInProgress(SharedFiles files, const std::vector<FilePath>& outputs);
  ~WriteInProgress() { exit(); }
  WriteInProgress(const WriteInProgress&) = delete;
  WriteInProgress& operator=(const WriteInProgress&) = delete;

  void enter();
  void exit();  // on the same thread

 private:
  const SharedFiles files_;
  const std::vector<std::string> outputs_;
  std::shared_ptr<internal::WorkOwner> owner_;
  std::optional<internal::WorkScope> scope_;
};

// Whether this thread works for a pass, and not only for writes. Needs the GIL.
bool works_for_pass();

using SourcesOf = std::function<std::vector<internal::SourceFile>()>;

// Throws Error{invalid_argument} if this thread works for a write that would replace one of the
// sources. `checked`: the last write that was compared, which is not compared again. Needs the GIL.
void require_not_replaced(const SourcesOf& sources, uint64_t& checked);
// The same, each time.
void require_not_replaced(const PythonDataset& dataset);

}  // namespace recordpipe::python
