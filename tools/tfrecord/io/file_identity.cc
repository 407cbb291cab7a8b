#include "tools/tfrecord/io/file_identity.h"

#include <sys/stat.h>

namespace recordpipe {
namespace {

FileIdentity identity_of(const struct stat& info) {
  return {.device = info.st_dev, .inode = info.st_ino, .type = info.st_mode & S_IFMT};
}

}  // namespace

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return identity_of(info);
}

std::optional<FileIdentity> identity_of(int descriptor) {
  struct stat info = {};
  if (::fstat(descriptor, &info) != 0) return std::nullopt;
  return identity_of(info);
}

void FileIdentities::add(const std::optional<FileIdentity>& file) {
  if (file) files_.insert(*file);
}

bool FileIdentities::contains(const std::optional<FileIdentity>& file) const {
  return file && files_.contains(*file);
}

}  // namespace recordpipe
