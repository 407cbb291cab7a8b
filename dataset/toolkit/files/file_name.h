// The name of a file apart from its folder and its compression: what is derived from it stays when
// the file is moved or compressed anew.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace recordpipe {

// The file name of a path or URL, without folders, query and the extension of a compression:
// "train" of "a/train.gz". May be empty, "." or "..".
std::string bare_name(const std::string& path);

// The same with the extension of a compression.
std::string file_name(const std::string& path);

// Length of the compression's extension at the end of a longer name: 3 of "a.gz"; 0 if none.
size_t compression_extension(std::string_view name);

// The same for compressions that are only read: 4 of "a.bz2".
size_t read_only_extension(std::string_view name);

// Derives a seed from a seed and a name.
uint64_t seed_of_name(uint64_t seed, std::string_view name);

}  // namespace recordpipe
