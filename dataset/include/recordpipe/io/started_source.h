// Sources that are opened without a thread that waits.
#pragma once

#include <memory>
#include <string>

#include "recordpipe/io/file.h"

namespace recordpipe {

// A source whose opening has begun.
class StartedSource : public ByteSource {
 public:
  // Waits until the source is open. Throws the errors of FileSystem::open_source(). Must be called
  // once, before the other functions.
  virtual void open() = 0;
};

// A FileSystem that begins to open many sources at a time without as many threads. Of one that is
// none, each call of open_source() needs a thread.
class StartingFileSystem : public FileSystem {
 public:
  // Begins to open a source, without waiting for it. Null for files that only open_source() opens.
  virtual std::unique_ptr<StartedSource> start_source(const std::string& path) = 0;
};

}  // namespace recordpipe
