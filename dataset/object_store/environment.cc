#include "dataset/object_store/environment.h"

#include <cstdlib>

namespace recordpipe {

Environment process_environment() {
  return [](const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  };
}

bool is_true(std::string_view value) {
  std::string lower(value);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower == "true" || lower == "yes" || lower == "1";
}

}  // namespace recordpipe
