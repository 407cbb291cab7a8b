// Prints the error of an object whose bucket has no valid name.
#include <cstdio>

#include "recordpipe/base/error.h"
#include "recordpipe/io/file.h"
#include "recordpipe/object_store/file_system.h"

int main() {
  recordpipe::ObjectStoreFileSystem files(recordpipe::posix_file_system());
  try {
    files.open_source("s3://x/key");
  } catch (const recordpipe::Error& error) {
    std::printf("%s\n", error.what());
  }
}
