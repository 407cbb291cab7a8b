// The engines of inflate() (compression.h). An engine decompresses one gzip member, zlib stream or
// zstd frame. gzip has two engines: zlib's, which is portable, and ISA-L's
// (https://github.com/intel/isa-l), which takes little more than half of zlib's time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "recordpipe/base/error.h"
#include "recordpipe/io/compression.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

struct InflateStep {
  size_t taken = 0;              // bytes consumed from `in`
  size_t made = 0;               // bytes written to `out`; valid even if damage follows
  bool ended = false;            // the trailer was read and is correct
  const char* damage = nullptr;  // the reason for a failure at the next byte; no output follows
  // limit_exceeded or unsupported: the stream is valid but exceeds a limit or is not supported.
  ErrorKind kind = ErrorKind::corrupted;
  bool only_check = false;  // the damage is a wrong checksum or length after all of the content
};

class InflateEngine {
 public:
  virtual ~InflateEngine() = default;

  // Decompresses as far as `in` and `out` allow. If taken and made are 0, the engine needs more
  // input. After `ended` or `damage`, start_again() must be called first.
  virtual InflateStep step(std::span<const std::byte> in, std::span<std::byte> out) = 0;

  // After damage, returns the number of bytes that were taken but not decoded: the damage is this
  // many bytes before the end of the taken bytes.
  virtual size_t unused() const = 0;
  // After damage or at the end of the input, how many of the taken bytes have made no output. May
  // depend on the sizes of in and out.
  virtual size_t undecoded() const { return unused(); }

  // Resets the engine for another member.
  virtual void start_again() = 0;
};

// For gzip or zlib.
std::unique_ptr<InflateEngine> make_zlib_inflate_engine(Compression format);

// For gzip only. Returns null if recordpipe was built without ISA-L.
std::unique_ptr<InflateEngine> make_isal_inflate_engine();

std::unique_ptr<InflateEngine> make_zstd_inflate_engine();

// Like inflate(), but with the given engine.
std::unique_ptr<ByteSource> inflate_by(std::unique_ptr<InflateEngine> engine,
                                       std::unique_ptr<ByteSource> compressed, Compression format,
                                       const InflateOptions& options = {});

}  // namespace recordpipe
