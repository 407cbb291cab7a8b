// Reads any bytes as a TFRecord file, as a stream and mapped, with and without CRC checks. The
// stream and the mapped file must give the same records, framing the records again must give the
// file's bytes, and memory is bounded for any lengths in the headers.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/record/record_writer.h"
#include "tests/support/bytes.h"
#include "tests/support/single_file_system.h"

namespace recordpipe {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

struct Outcome {
  std::vector<std::string> records;
  std::optional<Error> error;
};

Outcome read_stream(FileSystem& files, const RecordReadOptions& options) {
  Outcome outcome;
  RecordReader reader(files, "input", options);
  try {
    while (const auto record = reader.read()) outcome.records.push_back(as_text(record->data));
  } catch (const Error& error) {
    outcome.error = error;
  }
  return outcome;
}

Outcome read_mapped(FileSystem& files, const RecordReadOptions& options) {
  Outcome outcome;
  try {
    const MappedRecordFile file(files, "input", options);
    for (size_t i = 0; i < file.size(); ++i) outcome.records.push_back(as_text(file.read(i).data));
  } catch (const Error& error) {
    outcome.error = error;
  }
  return outcome;
}

void check_input(const std::string& input) {
  SingleFileSystem files(input);
  for (const CrcCheck crc : {CrcCheck::once, CrcCheck::never}) {
    // First with the compression detected from the bytes: this pass must only come to an end.
    read_stream(files, {.crc = crc, .max_record_size = 1 << 20});

    const RecordReadOptions plain = {.compression = Compression::none, .crc = crc};
    const Outcome streamed = read_stream(files, plain);
    const Outcome mapped = read_mapped(files, plain);
    require(streamed.error.has_value() == mapped.error.has_value(), "only one of them fails");
    if (!streamed.error) require(streamed.records == mapped.records, "other records");

    if (crc == CrcCheck::never) continue;
    std::string framed;
    for (const std::string& record : streamed.records) append_framed(as_bytes(record), framed);
    require(input.starts_with(framed), "framed again, other bytes");
    require(streamed.error || framed == input, "records are missing");
    if (streamed.error) require(streamed.error->offset() == framed.size(), "a wrong offset");
  }
}

}  // namespace
}  // namespace recordpipe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  recordpipe::check_input(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
