// Whether a TFRecord stream is compressed, found out from its first bytes.
#pragma once

#include <memory>
#include <span>

#include "recordpipe/compression.h"
#include "recordpipe/file.h"
#include "recordpipe/record_reader.h"

namespace recordpipe {

// What `options` say, or else what the first 12 bytes (or all there are) say: none where they are a
// record's header with a fitting CRC, else what they look like. FORMAT.md says what takes the CRC's
// place where it isn't checked.
Compression detect_record_compression(std::span<const std::byte> head,
                                      const RecordReadOptions& options);

struct DetectedSource {
  std::unique_ptr<ByteSource> source;  // plain: inflated where it has to be
  Compression compression = Compression::none;
  bool reads_on = false;  // after Error{corrupted} and Error{truncated}: see InflateOptions
};

// Inflates `raw` where that is how it is compressed.
DetectedSource detect_source(std::unique_ptr<ByteSource> raw, const RecordReadOptions& options,
                             const InflateOptions& inflating = {});

}  // namespace recordpipe
