// Detects the compression of a TFRecord stream from its first bytes.
#pragma once

#include <memory>
#include <span>

#include "recordpipe/io/compression.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {

// Returns options.compression if it is set. Otherwise detects the compression from `head`, the
// first 12 bytes (fewer in a shorter stream): none if `head` is a record header with a correct CRC,
// otherwise sniff_compression(head). FORMAT.md describes the detection without CRC checks.
Compression detect_record_compression(std::span<const std::byte> head,
                                      const RecordReadOptions& options);

struct DetectedSource {
  std::unique_ptr<ByteSource> source;  // the decompressed content
  Compression compression = Compression::none;
  // read() continues after Error{corrupted} and Error{truncated} (InflateOptions).
  bool reads_on = false;
};

// Detects the compression of `raw` and decompresses it if necessary. Content that is compressed
// again, but not with zlib, is decompressed, too, up to four times: `compression` is the outer one.
DetectedSource detect_source(std::unique_ptr<ByteSource> raw, const RecordReadOptions& options,
                             const InflateOptions& inflating = {});

}  // namespace recordpipe
