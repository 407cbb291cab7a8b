// Sets the user's cache directory.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace recordpipe {

// Sets $XDG_CACHE_HOME as long as it lives.
class CacheHome {
 public:
  explicit CacheHome(const std::string& folder) {
    if (const char* const set = std::getenv("XDG_CACHE_HOME")) before_ = set;
    ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  }
  ~CacheHome() {
    if (before_) {
      ::setenv("XDG_CACHE_HOME", before_->c_str(), 1);
    } else {
      ::unsetenv("XDG_CACHE_HOME");
    }
  }
  CacheHome(const CacheHome&) = delete;
  CacheHome& operator=(const CacheHome&) = delete;

 private:
  std::optional<std::string> before_;
};

}  // namespace recordpipe
