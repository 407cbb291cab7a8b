// Several files that appear together, any number of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/atomic_file.h"
#include "recordpipe/file.h"

namespace recordpipe {

// Files are written one after another, each as an AtomicFile; none appears under its name before
// all of them are complete and synced. One lock guards them all, that of the first file's partial
// one: a second process whose set begins with the same name gets Error{busy}. So no more than three
// files are open at a time, however many there are.
//
// A process that is killed while they get their names leaves some with their old content; the first
// one gets its name last, so where that is new, all are. Destroyed before commit(), the set leaves
// nothing. After a failure nothing more may be written.
class AtomicFileSet {
 public:
  explicit AtomicFileSet(FileSystem& file_system) : file_system_(file_system) {}
  ~AtomicFileSet();
  AtomicFileSet(const AtomicFileSet&) = delete;
  AtomicFileSet& operator=(const AtomicFileSet&) = delete;

  // Finishes the file before, and begins one for `path`. Valid until the next call; its close()
  // isn't to be called.
  ByteSink& begin(const std::string& path);
  // Finishes the last one; then all get these names, in the order they were begun: those they began
  // with, or others in the same folder where names can be told only at the end. Once.
  void commit(std::span<const std::string> paths);

 private:
  void finish_last();

  FileSystem& file_system_;
  std::vector<std::unique_ptr<AtomicFile>> files_;  // the last one is open
};

}  // namespace recordpipe
