// Inflates any bytes as a gzip, zlib or zstd stream: reading in pieces and at once give the same
// content and the same error, and ISA-L gives the same as zlib. If reading continues after damage,
// the content before the damage is the same, and the stream ends. Also as chunks of framed Snappy,
// and as the block of one.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataset/io/compression/inflate_engine.h"
#include "dataset/record/snappy_source.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/io/compression.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxContent = size_t{1} << 16;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Inflated {
  std::string content;  // up to a limit
  std::string error;    // message of the Error
  bool operator==(const Inflated&) const = default;
};

Inflated inflated(std::unique_ptr<ByteSource> source, size_t piece, size_t compressed_size) {
  Inflated result;
  std::vector<std::byte> buffer(piece);
  try {
    while (result.content.size() < kMaxContent) {
      const size_t wanted = std::min(piece, kMaxContent - result.content.size());
      const size_t count = source->read(std::span(buffer).first(wanted));
      if (count == 0) break;
      result.content += as_text(std::span(buffer).first(count));
    }
  } catch (const Error& error) {
    result.error = error.what();
    require(error.offset().value_or(0) <= compressed_size);
  }
  return result;
}

// Continues after damage, up to about kMaxContent bytes of content.
std::string inflated_all(std::unique_ptr<InflateEngine> engine, Compression format,
                         const std::string& input) {
  const auto source = inflate_by(std::move(engine), std::make_unique<MemorySource>(input), format,
                                 {.read_on_after_damage = true});
  std::string content;
  std::vector<std::byte> buffer(777);
  while (content.size() < kMaxContent) {
    try {
      const size_t count = source->read(buffer);
      if (count == 0) break;
      content += as_text(std::span(buffer).first(count));
    } catch (const Error& error) {
      if (!is_damage(error.kind())) break;
      require(error.offset().value_or(0) <= input.size());
    }
  }
  return content;
}

void check_snappy(const std::string& stream) {
  const auto read = [&](size_t piece) {
    return inflated(read_snappy(std::make_unique<MemorySource>(stream)), piece, stream.size());
  };
  require(read(13) == read(kMaxContent));
}

void check(const std::string& input) {
  check_snappy(input);
  std::string chunk(4, '\0');
  store_little_endian(static_cast<uint32_t>(input.size() << 8),
                      reinterpret_cast<std::byte*>(chunk.data()));
  check_snappy(chunk + input);
  const auto read = [&](std::unique_ptr<InflateEngine> engine, Compression format, size_t piece) {
    return inflated(inflate_by(std::move(engine), std::make_unique<MemorySource>(input), format),
                    piece, input.size());
  };
  const auto zlib = [&](Compression format, size_t piece) {
    return read(make_zlib_inflate_engine(format), format, piece);
  };
  const Inflated by_zlib = zlib(Compression::gzip, kMaxContent);
  require(zlib(Compression::gzip, 13) == by_zlib);
  require(zlib(Compression::zlib, 13) == zlib(Compression::zlib, kMaxContent));

  const auto zstd = [&](size_t piece) {
    return read(make_zstd_inflate_engine(), Compression::zstd, piece);
  };
  require(zstd(13) == zstd(kMaxContent));

  const auto starts_alike = [](const std::string& a, const std::string& b) {
    const size_t common = std::min(a.size(), b.size());
    return a.substr(0, common) == b.substr(0, common);
  };
  require(starts_alike(by_zlib.content, inflated_all(make_zlib_inflate_engine(Compression::gzip),
                                                     Compression::gzip, input)));
  require(starts_alike(zstd(777).content,
                       inflated_all(make_zstd_inflate_engine(), Compression::zstd, input)));

  if (!make_isal_inflate_engine()) return;
  inflated_all(make_isal_inflate_engine(), Compression::gzip, input);
  const Inflated at_once = read(make_isal_inflate_engine(), Compression::gzip, kMaxContent);
  require(read(make_isal_inflate_engine(), Compression::gzip, 777) == at_once);
  // ISA-L accepts an incomplete code and unknown flags, which zlib rejects.
  if (by_zlib.error.empty()) {
    require(at_once == by_zlib);
  } else {
    require(starts_alike(at_once.content, by_zlib.content));
  }
}

}  // namespace
}  // namespace recordpipe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  recordpipe::check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
