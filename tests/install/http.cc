// Prints the error of a download that is rejected because of its URL.
#include <cstdio>

#include "recordpipe/base/error.h"
#include "recordpipe/http/download.h"
#include "recordpipe/io/file.h"

int main() {
  try {
    recordpipe::download(recordpipe::posix_file_system(), "ftp://example.org/x", "x");
  } catch (const recordpipe::Error& error) {
    std::printf("%s\n", error.what());
  }
}
