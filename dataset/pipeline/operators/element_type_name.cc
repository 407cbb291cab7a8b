#include "recordpipe/internal/element_type_name.h"

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace recordpipe::internal {

std::string name_of(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return name ? name.get() : type.name();
}

}  // namespace recordpipe::internal
