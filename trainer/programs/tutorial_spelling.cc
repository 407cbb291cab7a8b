#include "trainer/programs/tutorial_spelling.h"

#include <algorithm>

#include "trainer/programs/flag_helpers.h"

namespace recordpipe {
namespace {

bool names_boolean(const ArgumentParser& app, const std::string& name) {
  const auto option = app.find(name);
  return option && is_boolean(*option);
}

}  // namespace

std::vector<std::string> with_our_spelling(const ArgumentParser& app,
                                           std::vector<std::string> arguments) {
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    std::string& argument = arguments[i];
    if (!argument.starts_with("--")) continue;
    const size_t end = std::min(argument.find('='), argument.size());
    std::string name = argument.substr(0, end);
    std::ranges::replace(name, '_', '-');
    const bool alone = end == argument.size();
    const std::string without_no = name.starts_with("--no") ? "--" + name.substr(4) : "";
    if (alone && names_boolean(app, without_no)) {
      argument = without_no + "=false";
    } else if (const auto option = app.find(name)) {
      const bool last = i + 1 == arguments.size() || arguments[i + 1].starts_with("--");
      if (alone && last && is_boolean(*option)) {
        argument = name + "=true";
      } else {
        argument.replace(0, end, name);
        // The next argument is its value, whatever it looks like.
        if (alone && !option->facts().is_flag) ++i;
      }
    }
  }
  return arguments;
}

}  // namespace recordpipe
