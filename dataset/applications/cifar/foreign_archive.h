// Detection of unsupported archive formats, for helpful errors.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace recordpipe {

inline constexpr size_t kForeignArchiveHead = 6;  // bytes needed for the detection

// Throws Error{unsupported} if `head`, the first bytes of the archive at `path`, are those of an
// xz, bzip2, zstd, zip, 7z or rar file. The hint says how to convert it.
void refuse_foreign_archive(std::span<const std::byte> head, const std::string& path);

}  // namespace recordpipe
