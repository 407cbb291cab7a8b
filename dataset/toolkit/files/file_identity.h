// Tells whether two paths lead to the same file, so that an output does not replace an input.
#pragma once

#include <compare>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

#include "recordpipe/io/file.h"

namespace recordpipe {

struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  mode_t type = 0;  // S_IFREG, S_IFIFO, S_IFCHR, ...

  auto operator<=>(const FileIdentity&) const = default;
};

FileIdentity identity_of(const struct stat& info);
// Follows links. Empty if the file doesn't exist.
std::optional<FileIdentity> identity_of(const std::string& path);

// A set of files.
class FileIdentities {
 public:
  // Ignores an empty `file`: a file that doesn't exist.
  void add(const std::optional<FileIdentity>& file);
  bool contains(const std::optional<FileIdentity>& file) const;

 private:
  std::set<FileIdentity> files_;
};

inline constexpr char kReplacesInput[] = "one of the files that are read, and would be replaced";

// Throws Error{invalid_argument} if one of `outputs` is one of `inputs`, under any name.
void require_no_input(const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs);

// Throws Error{already_exists} if a file or a folder has the name of an output. Pipes and devices
// may: they aren't replaced.
void require_absent(FileSystem& files, const std::vector<std::string>& outputs);

}  // namespace recordpipe
