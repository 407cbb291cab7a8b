// Whether a TFRecord stream is compressed, found out from its first bytes.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "dataset/io/compression.h"
#include "dataset/io/file.h"

namespace recordpipe {

// From the first 12 bytes (or all there are): none where they are a record's header with a fitting
// CRC, else what they look like.
Compression detect_record_compression(std::span<const std::byte> head);

struct DetectedSource {
  std::unique_ptr<ByteSource> source;  // plain: inflated where it has to be
  Compression compression = Compression::none;
};

// Inflates `raw` as `wanted` says, or, where it says nothing, as its first bytes do.
DetectedSource detect_source(std::unique_ptr<ByteSource> raw, std::optional<Compression> wanted);

}  // namespace recordpipe
