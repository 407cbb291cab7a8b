// The engines that inflate() chooses from, as parameters of tests, and contents to try them on.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dataset/io/inflate_engine.h"
#include "recordpipe/compression.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {

inline std::string deflated(std::string_view content, DeflateOptions options) {
  MemorySink sink;
  const auto deflating = deflate(sink, options);
  // In pieces, as a writer would.
  for (size_t used = 0; used < content.size(); used += 1000) {
    deflating->write(as_bytes(content.substr(used, 1000)));
  }
  deflating->close();
  return sink.content;
}

// The engines that inflate() chooses from.
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

  // What comes out of a damaged stream before its error, and the error.
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
    // And ever after.
    EXPECT_STREQ(error_of(read_once).what(), error.what());
    return {before, error};
  }
};

inline std::string name_of(const testing::TestParamInfo<Engine>& info) { return info.param.name; }

// Compresses badly enough for cuts to matter, and well enough for back references.
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
