// What inflate() of compression.h is made of: engines, each of which turns the compressed bytes of
// one gzip member, zlib stream or zstd frame into its content. For gzip zlib's is the plain twin;
// ISA-L's (https://github.com/intel/isa-l) inflates it in a little over half of zlib's time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "recordpipe/compression.h"
#include "recordpipe/error.h"
#include "recordpipe/file.h"

namespace recordpipe {

struct InflateStep {
  size_t taken = 0;              // from the front of `in`
  size_t made = 0;               // at the front of `out`, and right even where damage follows
  bool ended = false;            // the trailer was read and fits
  const char* damage = nullptr;  // what is wrong with the next byte; nothing more will come
  // limit_exceeded or unsupported: it is no damage, but more than is given, or known.
  ErrorKind kind = ErrorKind::corrupted;
};

class InflateEngine {
 public:
  virtual ~InflateEngine() = default;

  // Goes on as far as `in` and `out` allow. Nothing taken and nothing made: it needs more of `in`.
  // Not to be called any more after `ended` or `damage`, but see start_again.
  virtual InflateStep step(std::span<const std::byte> in, std::span<std::byte> out) = 0;

  // Bytes that were taken but not used, at damage: it lies that far before what was taken last.
  virtual size_t unused() const = 0;

  // The next bytes are those of another member, whatever was before.
  virtual void start_again() = 0;
};

// gzip or zlib.
std::unique_ptr<InflateEngine> make_zlib_inflate_engine(Compression format);

// gzip only. Null where recordpipe was built without ISA-L.
std::unique_ptr<InflateEngine> make_isal_inflate_engine();

std::unique_ptr<InflateEngine> make_zstd_inflate_engine();

// inflate(), by this engine.
std::unique_ptr<ByteSource> inflate_by(std::unique_ptr<InflateEngine> engine,
                                       std::unique_ptr<ByteSource> compressed, Compression format,
                                       const InflateOptions& options = {});

}  // namespace recordpipe
