// Parametrises tests by the engines of inflate(), and makes test contents.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/io/compression/inflate_engine.h"
#include "recordpipe/io/compression.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {

inline std::string deflated(std::string_view content, DeflateOptions options) {
  MemorySink sink;
  const auto deflating = deflate(sink, options);
  // In pieces, like a writer.
  for (size_t used = 0; used < content.size(); used += 1000) {
    deflating->write(as_bytes(content.substr(used, 1000)));
  }
  deflating->close();
  return sink.content;
}

// An engine of inflate().
struct Engine {
  const char* name;
  Compression format;
  std::unique_ptr<InflateEngine> (*make)();
};

inline std::vector<Engine> engines_for(std::initializer_list<Compression> formats) {
  const Engine all[] = {
      {"gzip_by_zlib", Compression::gzip,
       [] { return make_zlib_inflate_engine(Compression::gzip); }},
      {"gzip_by_isal", Compression::gzip, [] { return make_isal_inflate_engine(); }},
      {"zlib_by_zlib", Compression::zlib,
       [] { return make_zlib_inflate_engine(Compression::zlib); }},
      {"zstd", Compression::zstd, [] { return make_zstd_inflate_engine(); }}};
  std::vector<Engine> engines;
  for (const Engine& engine : all) {
    if (std::ranges::count(formats, engine.format) && engine.make()) engines.push_back(engine);
  }
  return engines;
}

class EngineTest : public testing::TestWithParam<Engine> {
 protected:
  static Compression format() { return GetParam().format; }

  static std::unique_ptr<ByteSource> inflating(std::unique_ptr<ByteSource> compressed) {
    return inflate_by(GetParam().make(), std::move(compressed), format());
  }

  static std::string inflated(std::string compressed) {
    const auto source = inflating(std::make_unique<MemorySource>(std::move(compressed), "a.gz"));
    return as_text(read_all(*source, 1u << 30));
  }

  // Returns the content before the error of a damaged stream, and the error.
  static std::pair<std::string, Error> broken(std::string compressed) {
    const auto source = inflating(std::make_unique<MemorySource>(std::move(compressed), "a.gz"));
    std::string before;
    const auto read_once = [&] {
      std::string part(777, '\0');
      part.resize(source->read(std::as_writable_bytes(std::span(part))));
      before += part;
      return !part.empty();
    };
    const Error error = error_of([&] {
      while (read_once()) {
      }
    });
    // The error is sticky.
    EXPECT_STREQ(error_of(read_once).what(), error.what());
    return {before, error};
  }
};

inline std::string name_of(const testing::TestParamInfo<Engine>& info) { return info.param.name; }

// Returns content that compresses with back references, but not so well that a truncation has no
// effect.
inline std::string sample_content(size_t size) {
  std::string content;
  uint32_t state = 1;
  while (content.size() < size) {
    state = state * 1664525 + 1013904223;
    content += std::string(state >> 30, 'a') + static_cast<char>(state >> 24);
  }
  return content;
}

}  // namespace recordpipe
