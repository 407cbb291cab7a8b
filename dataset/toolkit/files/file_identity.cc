#include "dataset/toolkit/files/file_identity.h"

#include "recordpipe/base/error.h"

namespace recordpipe {

FileIdentity identity_of(const struct stat& info) {
  return {.device = info.st_dev, .inode = info.st_ino, .type = info.st_mode & S_IFMT};
}

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return identity_of(info);
}

void FileIdentities::add(const std::optional<FileIdentity>& file) {
  if (file) files_.insert(*file);
}

bool FileIdentities::contains(const std::optional<FileIdentity>& file) const {
  return file && files_.contains(*file);
}

void require_no_input(const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs) {
  FileIdentities read;
  for (const std::string& path : inputs) read.add(identity_of(path));
  for (const std::string& path : outputs) {
    if (!read.contains(identity_of(path))) continue;
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = path,
                 .reason = kReplacesInput,
                 .hint = "give the output another name"});
  }
}

void require_absent(FileSystem& files, const std::vector<std::string>& outputs) {
  for (const std::string& path : outputs) {
    const auto status = files.status(path);
    if (!status || status->kind == FileKind::other) continue;
    throw Error({.kind = ErrorKind::already_exists,
                 .path = path,
                 .reason = "exists, and would be replaced",
                 .hint = "give the output another name"});
  }
}

}  // namespace recordpipe
