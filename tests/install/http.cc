// Prints the error of a download that is rejected because of its URL.
#include <cstdio>

#include "recordpipe/error.h"
#include "recordpipe/file.h"
#include "recordpipe/http/download.h"

int main() {
  try {
    recordpipe::download(recordpipe::posix_file_system(), "ftp://example.org/x", "x");
  } catch (const recordpipe::Error& error) {
    std::printf("%s\n", error.what());
  }
}
