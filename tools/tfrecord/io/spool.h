// What must be read twice and can be read once only: a pipe, whose first reading is kept.
#pragma once

#include <memory>
#include <string>

#include "recordpipe/file.h"
#include "recordpipe/temporary_file.h"

namespace recordpipe {

// Must live as long as its sources; stays where it is. Throws what TemporaryFile throws.
class Spool {
 public:
  explicit Spool(const std::string& directory) : file_(directory) {}
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Gives what `source` gives, which is kept until stop().
  std::unique_ptr<ByteSource> keep(std::unique_ptr<ByteSource> source);
  void stop() { keeps_ = false; }
  // Gives what was kept once more, from its start.
  std::unique_ptr<ByteSource> open() const;

 private:
  class Keeping;
  class Kept;

  TemporaryFile file_;
  std::string path_;  // the source's
  bool keeps_ = true;
};

}  // namespace recordpipe
