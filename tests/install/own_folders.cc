// Writes two records and reads them as a dataset, in a project whose own headers have the same
// names as the library's. installation_test.py writes these headers, with a constant in each, and
// adds their includes to this file.
#include <cstdio>
#include <span>
#include <string_view>

#include "recordpipe/base/error.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_writer.h"

using namespace recordpipe;

static_assert(own::dataset && own::error && own::iterator_state && own::plan && own::ticket);

int main() {
  RecordWriter writer(posix_file_system(), "two.tfrecords");
  for (const std::string_view text : {"one", "two"}) writer.write(std::as_bytes(std::span(text)));
  writer.close();
  for (const Record& record : tfrecord_files({"two.tfrecords"}).take(2)) {
    std::printf("%.*s\n", static_cast<int>(record.data.size()),
                reinterpret_cast<const char*>(record.data.data()));
  }
}
