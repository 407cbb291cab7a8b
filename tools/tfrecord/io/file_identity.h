// Which file it is, whatever its name: a link, a pattern's match and a descriptor may all be one.
#pragma once

#include <optional>
#include <set>
#include <string>

#include <sys/types.h>

namespace recordpipe {

struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  mode_t type = 0;  // S_IFREG, S_IFIFO, S_IFCHR, ...

  auto operator<=>(const FileIdentity&) const = default;
};

// Links are followed. Nothing where there is none.
std::optional<FileIdentity> identity_of(const std::string& path);
std::optional<FileIdentity> identity_of(int descriptor);

// The files that a command reads.
class FileIdentities {
 public:
  // One that isn't there, or nothing, is left out.
  void add(const std::optional<FileIdentity>& file);
  bool contains(const std::optional<FileIdentity>& file) const;

 private:
  std::set<FileIdentity> files_;
};

}  // namespace recordpipe
