#include "dataset/object_store/environment.h"

#include <cstdlib>

#include "dataset/base/lower_case.h"

namespace recordpipe {

Environment process_environment() {
  return [](const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  };
}

bool is_true(std::string_view value) {
  const std::string lower = lower_case(value);
  return lower == "true" || lower == "yes" || lower == "1";
}

}  // namespace recordpipe
