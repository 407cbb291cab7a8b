// Archives in formats that are not read: told by name, so that their owner knows what to do.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace recordpipe {

inline constexpr size_t kForeignArchiveHead = 6;  // bytes that tell

// Throws Error{unsupported} where `head`, the first bytes of the archive at `path`, are those of an
// xz, bzip2, zstd, zip, 7z or rar file.
void refuse_foreign_archive(std::span<const std::byte> head, const std::string& path);

}  // namespace recordpipe
