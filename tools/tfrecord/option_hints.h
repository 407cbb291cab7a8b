// What the library's hints mean on the command line.
#pragma once

#include <string>

#include "dataset/base/error.h"

namespace recordpipe {

// A hint in which settings of the library have become options.
std::string in_options(std::string hint);

// All of an error, for standard error; where a record is damaged, with what can be done about it.
std::string text_of(const Error& error);

}  // namespace recordpipe
