// Writes two records and reads them back.
#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>

#include "recordpipe/io/file.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/record_writer.h"

using namespace recordpipe;

int main() {
  RecordWriter writer(posix_file_system(), "two.tfrecords.gz", {.compression = Compression::gzip});
  for (const std::string_view text : {"one", "two"}) writer.write(std::as_bytes(std::span(text)));
  writer.close();
  RecordReader reader(posix_file_system(), "two.tfrecords.gz");
  while (const auto record = reader.read()) {
    std::printf("%.*s\n", static_cast<int>(record->data.size()),
                reinterpret_cast<const char*>(record->data.data()));
  }
}
