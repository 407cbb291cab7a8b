#include "python/native/dataset_files.h"

#include <algorithm>

#include "dataset/pipeline/engine/file_fingerprints.h"
#include "dataset/pipeline/engine/node.h"
#include "python/native/file_work.h"
#include "python/native/gil.h"
#include "recordpipe/error.h"

namespace recordpipe::python {
namespace {

// Whether two file systems that aren't of this machine have the same file of this name. Each call
// with filesystem= makes a FileSystem of its own.
bool has_same_file(FileSystem& a, FileSystem& b, const std::string& path) {
  if (&a == &b) return true;
  try {
    return internal::version_of(path, *a.open_random(path)) ==
           internal::version_of(path, *b.open_random(path));
  } catch (const Error&) {  // one has no such file
    return false;
  }
}

}  // namespace

void require_not_read(const PythonDataset& dataset, const SharedFiles& files,
                      const std::vector<FilePath>& outputs) {
  const GilRelease no_gil;
  const std::vector<std::string> replaced = strings(outputs);
  std::vector<std::string> read;
  const auto sources = dataset.visit(
      [](const auto& elements) { return elements.node()->describe().source_files(); });
  for (const auto& [file_system, path] : sources) {
    const bool is_here = file_system->can_map(path);
    if (is_here == (*files).can_map(replaced.front()) &&
        (is_here || (std::ranges::find(replaced, path) != replaced.end() &&
                     has_same_file(*file_system, *files, path)))) {
      read.push_back(path);
    }
  }
  require_no_input(files, read, replaced);
}

}  // namespace recordpipe::python
