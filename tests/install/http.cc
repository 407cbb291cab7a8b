// Downloads nothing: the URL is refused.
#include <cstdio>

#include "dataset/io/http_download.h"
#include "recordpipe/error.h"
#include "recordpipe/file.h"

int main() {
  try {
    recordpipe::download(recordpipe::posix_file_system(), "ftp://example.org/x", "x");
  } catch (const recordpipe::Error& error) {
    std::printf("%s\n", error.what());
  }
}
