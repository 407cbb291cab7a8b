// Listings of directories, each requested once: object stores take a request for each 1,000 names.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/io/file.h"

namespace recordpipe {

// Sorted by name. Null: there is no such directory.
using Listing = std::shared_ptr<const std::vector<DirectoryEntry>>;

class Listings {
 public:
  // `keeps`: whether a directory may be needed again. Otherwise listings take no memory once they
  // are used.
  Listings(FileSystem& file_system, bool keeps) : file_system_(file_system), keeps_(keeps) {}
  Listings(const Listings&) = delete;
  Listings& operator=(const Listings&) = delete;

  FileSystem& file_system() { return file_system_; }
  // `directory`: "" is the working directory. Throws the errors of FileSystem::list_entries(),
  // except not_found of a local directory.
  Listing at(const std::string& directory);
  // The same, with at least the names that start with `prefix`. Is not kept.
  Listing starting_with(const std::string& directory, std::string_view prefix);

 private:
  FileSystem& file_system_;
  const bool keeps_;
  std::map<std::string, Listing> kept_;
};

// Returns the entry with this name; null if there is none.
const DirectoryEntry* find_entry(const std::vector<DirectoryEntry>& entries, std::string_view name);

// Returns the entries with valid names that start with `prefix`, sorted: a server may send others.
std::vector<DirectoryEntry> checked_entries(std::vector<DirectoryEntry> listed,
                                            std::string_view prefix);

}  // namespace recordpipe
