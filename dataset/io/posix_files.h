// The operating system's files behind the interfaces of file.h.
#pragma once

#include <memory>
#include <string>

#include "recordpipe/file.h"

namespace recordpipe {

std::unique_ptr<ByteSource> open_posix_source(const std::string& path);
std::unique_ptr<RandomAccessFile> open_posix_random(const std::string& path);
std::unique_ptr<OutputFile> create_posix_file(const std::string& path, CreateMode mode);
std::unique_ptr<MappedFile> map_posix_file(const std::string& path);
std::unique_ptr<FileLock> lock_posix_file(const std::string& path);

}  // namespace recordpipe
