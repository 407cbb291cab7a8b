#include "dataset/io/listings.h"

#include <algorithm>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"

namespace recordpipe {

Listing Listings::at(const std::string& directory) {
  std::string path = directory.empty() ? "." : directory;
  // In an object store, a//b is another folder than a/b.
  while (!is_object_url(path) && path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (const auto found = kept_.find(path); found != kept_.end()) return found->second;
  Listing listing;
  try {
    listing = std::make_shared<const std::vector<DirectoryEntry>>(file_system_.list_entries(path));
  } catch (const Error& error) {
    // An object store has no missing folders, only missing buckets.
    if (error.kind() != ErrorKind::not_found || is_object_url(path)) throw;
  }
  if (keeps_) kept_.emplace(path, listing);
  return listing;
}

Listing Listings::starting_with(const std::string& directory, std::string_view prefix) {
  return std::make_shared<const std::vector<DirectoryEntry>>(
      file_system_.list_entries_with_prefix(directory, prefix));
}

const DirectoryEntry* find_entry(const std::vector<DirectoryEntry>& entries,
                                 std::string_view name) {
  const auto found = std::ranges::lower_bound(entries, name, {}, &DirectoryEntry::name);
  return found != entries.end() && found->name == name ? &*found : nullptr;
}

std::vector<DirectoryEntry> checked_entries(std::vector<DirectoryEntry> listed,
                                            std::string_view prefix) {
  std::erase_if(listed, [&](const DirectoryEntry& entry) {
    const std::string& name = entry.name;
    return name.empty() || name.find('/') != name.npos || !name.starts_with(prefix);
  });
  std::ranges::sort(listed, {}, &DirectoryEntry::name);
  return listed;
}

}  // namespace recordpipe
