// Parses command lines of the training programs, as main() does.
#pragma once

#include <string>
#include <vector>

namespace recordpipe {

template <class Parse>
auto parsed(Parse parse, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "program");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return parse(static_cast<int>(arguments.size()), argv.data());
}

}  // namespace recordpipe
