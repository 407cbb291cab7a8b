#include "trainer/programs/tutorial_spelling.h"

#include <algorithm>

#include "trainer/programs/flag_helpers.h"

namespace recordpipe {
namespace {

const CLI::Option* boolean_of(const CLI::App& app, const std::string& name) {
  const CLI::Option* option = app.get_option_no_throw(name);
  return option != nullptr && is_boolean(*option) ? option : nullptr;
}

}  // namespace

std::vector<std::string> with_our_spelling(const CLI::App& app,
                                           std::vector<std::string> arguments) {
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    std::string& argument = arguments[i];
    if (!argument.starts_with("--")) continue;
    const size_t end = std::min(argument.find('='), argument.size());
    std::string name = argument.substr(0, end);
    std::ranges::replace(name, '_', '-');
    const bool alone = end == argument.size();
    const std::string without_no = name.starts_with("--no") ? "--" + name.substr(4) : "";
    if (alone && boolean_of(app, without_no) != nullptr) {
      argument = without_no + "=false";
    } else if (const CLI::Option* option = app.get_option_no_throw(name)) {
      const bool last = i + 1 == arguments.size() || arguments[i + 1].starts_with("--");
      if (alone && last && is_boolean(*option)) {
        argument = name + "=true";
      } else {
        argument.replace(0, end, name);
        // The next argument is its value, whatever it looks like.
        if (alone && option->get_items_expected_min() > 0) ++i;
      }
    }
  }
  return arguments;
}

}  // namespace recordpipe
