// The variables of an environment.
#pragma once

#include <map>
#include <string>

#include "dataset/object_store/environment.h"

namespace recordpipe {

using Variables = std::map<std::string, std::string>;

// Returns a copy of `variables` as the environment that settings are read from.
inline Environment environment_of(const Variables& variables) {
  return [variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

}  // namespace recordpipe
