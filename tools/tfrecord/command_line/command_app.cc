#include "tools/tfrecord/command_line/command_app.h"

#include <utility>

namespace recordpipe {

CLI::Option* CommandApp::add_input(std::string names, std::vector<std::string>& files,
                                   std::string description) {
  CLI::Option* const option = add_option(std::move(names), files, std::move(description));
  inputs_.push_back({option, [&files](FileSystem&) { return files; }});
  return option;
}

CLI::Option* CommandApp::add_input(std::string names, std::string& file, std::string description,
                                   PathsOf paths) {
  CLI::Option* const option = add_option(std::move(names), file, std::move(description));
  if (!paths) paths = [&file](FileSystem&) { return std::vector{file}; };
  inputs_.push_back({option, std::move(paths)});
  return option;
}

CLI::Option* CommandApp::add_output(std::string names, std::string& path, std::string description,
                                    OutputOption output) {
  CLI::Option* const option = add_option(std::move(names), path, std::move(description));
  output.option = option->type_name("FILE");
  outputs_.push_back(std::move(output));
  return option;
}

}  // namespace recordpipe
