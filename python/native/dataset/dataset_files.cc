#include "python/native/dataset/dataset_files.h"

#include <algorithm>
#include <utility>

#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/state/file_fingerprints.h"
#include "python/native/interpreter/gil.h"
#include "python/native/toolkit/file_work.h"
#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/extension.h"

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

std::vector<internal::SourceFile> sources_of(const PythonDataset& dataset) {
  return dataset.visit(
      [](const auto& elements) { return extension::node(elements)->describe().source_files(); });
}

// Without the GIL.
void require_none_of(const std::vector<internal::SourceFile>& sources, const SharedFiles& files,
                     const std::vector<std::string>& replaced) {
  std::vector<std::string> read;
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

struct Write {
  uint64_t number;  // from 1 on
  const internal::WorkOwner* owner;
  SharedFiles files;
  std::vector<std::string> outputs;
};

// Changed and read with the GIL. Never destroyed: passes may run while the process exits.
std::vector<Write>& writes_in_progress() {
  static auto* const all = new std::vector<Write>;
  return *all;
}

uint64_t last_number = 0;

}  // namespace

void require_not_read(const PythonDataset& dataset, const SharedFiles& files,
                      const std::vector<FilePath>& outputs) {
  const GilRelease no_gil;
  require_none_of(sources_of(dataset), files, strings(outputs));
}

WriteInProgress::WriteInProgress(SharedFiles files, const std::vector<FilePath>& outputs)
    : files_(std::move(files)), outputs_(strings(outputs)) {}

void WriteInProgress::enter() {
  owner_ = std::make_shared<internal::WorkOwner>(internal::work_owner);
  scope_.emplace(owner_);
  writes_in_progress().push_back({++last_number, owner_.get(), files_, outputs_});
}

void WriteInProgress::exit() {
  scope_.reset();
  std::erase_if(writes_in_progress(), [&](const Write& one) { return one.owner == owner_.get(); });
}

bool works_for_pass() {
  const std::vector<Write>& writes = writes_in_progress();
  for (const auto* at = internal::work_owner.get(); at != nullptr; at = at->outer.get()) {
    const auto is_this = [at](const Write& one) { return one.owner == at; };
    if (std::ranges::none_of(writes, is_this)) return true;
  }
  return false;
}

void require_not_replaced(const SourcesOf& sources, uint64_t& checked) {
  if (writes_in_progress().empty()) return;
  std::vector<Write> writes;
  for (const Write& one : writes_in_progress()) {
    if (one.number > checked && internal::works_for(*one.owner)) writes.push_back(one);
  }
  if (writes.empty()) return;
  {
    const GilRelease no_gil;
    const std::vector<internal::SourceFile> all = sources();
    for (const Write& one : writes) require_none_of(all, one.files, one.outputs);
  }
  checked = writes.back().number;
}

void require_not_replaced(const PythonDataset& dataset) {
  uint64_t checked = 0;
  require_not_replaced([&] { return sources_of(dataset); }, checked);
}

}  // namespace recordpipe::python
