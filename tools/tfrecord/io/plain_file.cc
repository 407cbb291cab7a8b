#include "tools/tfrecord/io/plain_file.h"

#include <array>
#include <span>

#include "recordpipe/error.h"
#include "recordpipe/http/url.h"
#include "recordpipe/record_format.h"
#include "recordpipe/record_index.h"
#include "recordpipe/stream_compression.h"
#include "tools/tfrecord/io/inputs.h"

namespace recordpipe {

std::unique_ptr<RandomAccessFile> open_random_input(FileSystem& files, const std::string& path) {
  if (is_standard_input(path)) return nullptr;
  try {
    const auto status = files.status(path);
    if (!status || status->kind != FileKind::regular) return nullptr;
    return files.open_random(path);
  } catch (const Error& error) {
    // A server that tells no sizes or sends no parts.
    if (error.kind() == ErrorKind::unsupported) return nullptr;
    throw;
  }
}

bool can_be_mapped(FileSystem& files, const std::string& path, const RecordReadOptions& reading) {
  if (is_standard_input(path) || is_http_url(path)) return false;
  const auto status = files.status(path);
  return status && status->kind == FileKind::regular &&
         detect_compression(files, path, reading) == Compression::none;
}

Compression compression_of(const RandomAccessFile& file, const RecordReadOptions& reading) {
  std::array<std::byte, kRecordHeaderSize> head;
  const size_t size = file.read_at(0, head);
  return detect_record_compression(std::span(head).first(size), reading);
}

bool index_fits(FileSystem& files, const std::string& path, const RandomAccessFile& file) {
  const std::string index_path = record_index_path(path);
  try {
    const auto status = files.status(index_path);
    if (!status || status->kind != FileKind::regular) return false;  // a FIFO would be waited for
    RecordIndexReader index(files, index_path);
    check_record_index(index, file, IndexedHeaders::some);
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cancelled) throw;
    return false;
  }
}

}  // namespace recordpipe
