#include "tools/tfrecord/command_line/compression_option.h"

#include <map>
#include <string>

#include <CLI/App.hpp>

namespace recordpipe {

void add_compression(CLI::App& app, std::optional<Compression>& compression) {
  static const std::map<std::string, Compression> kNames = {{"none", Compression::none},
                                                            {"gzip", Compression::gzip},
                                                            {"zlib", Compression::zlib},
                                                            {"zstd", Compression::zstd}};
  app.add_option_function<std::string>(
         "--compression",
         [&compression](const std::string& name) { compression = kNames.at(name); },
         "Compression (default: from the file name: .gz, .zlib, .zst)")
      ->check(CLI::IsMember({"none", "gzip", "zlib", "zstd"}).description(""))
      ->type_name("none|gzip|zlib|zstd");
}

Compression compression_for(std::string_view path, std::optional<Compression> given) {
  static const std::map<std::string_view, Compression> kEndings = {{".gz", Compression::gzip},
                                                                   {".gzip", Compression::gzip},
                                                                   {".zlib", Compression::zlib},
                                                                   {".zst", Compression::zstd},
                                                                   {".zstd", Compression::zstd}};
  if (given) return *given;
  for (const auto& [ending, compression] : kEndings) {
    if (path.ends_with(ending)) return compression;
  }
  return Compression::none;
}

}  // namespace recordpipe
