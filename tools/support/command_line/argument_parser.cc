#include "tools/support/command_line/argument_parser.h"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <utility>

#include <CLI/CLI.hpp>

namespace recordpipe {
namespace {

class HelpFormatter final : public CLI::FormatterBase {
 public:
  explicit HelpFormatter(std::function<std::string()> make) : make_(std::move(make)) {}

  std::string make_help(const CLI::App*, std::string, CLI::AppFormatMode) const override {
    return make_();
  }

 private:
  std::function<std::string()> make_;
};

// --help and --version are "errors" with exit code 0.
bool is_request(const CLI::ParseError& error) { return error.get_exit_code() == 0; }

// CLI11 expects reverse order.
std::vector<std::string> reversed(std::vector<std::string> arguments) {
  std::ranges::reverse(arguments);
  return arguments;
}

}  // namespace

std::vector<std::string> arguments_of(int argc, char** argv) {
  return {argv + std::min(argc, 1), argv + argc};
}

ArgumentParser::ArgumentParser(const std::string& name, const std::string& description)
    : app_(std::make_shared<CLI::App>(description, name)) {}

const std::string& ArgumentParser::name() const { return app_->get_name(); }

template <class T>
Option ArgumentParser::add_option(const std::string& names, T& value,
                                  const std::string& description) {
  CLI::Option* const option = app_->add_option(names, value, description);
  if (!option->get_positional()) option->allow_extra_args(false);  // the next word is no value
  return Option(*option);
}

// Each takes seconds to compile.
#define RECORDPIPE_INSTANTIATE(T) \
  template Option ArgumentParser::add_option(const std::string&, T&, const std::string&)
RECORDPIPE_INSTANTIATE(bool);
RECORDPIPE_INSTANTIATE(int64_t);
RECORDPIPE_INSTANTIATE(uint64_t);
RECORDPIPE_INSTANTIATE(double);
RECORDPIPE_INSTANTIATE(std::string);
RECORDPIPE_INSTANTIATE(std::vector<std::string>);
RECORDPIPE_INSTANTIATE(std::optional<uint64_t>);
RECORDPIPE_INSTANTIATE(std::optional<double>);
#undef RECORDPIPE_INSTANTIATE

Option ArgumentParser::add_option_function(const std::string& names,
                                           const std::function<void(const std::string& text)>& use,
                                           const std::string& description) {
  return Option(*app_->add_option_function<std::string>(names, use, description));
}

Option ArgumentParser::add_flag(const std::string& names, bool& value,
                                const std::string& description) {
  return Option(*app_->add_flag(names, value, description));
}

Option ArgumentParser::add_flag_function(const std::string& names, const std::function<void()>& use,
                                         const std::string& description) {
  return Option(*app_->add_flag_function(
      names, [use](int64_t) { use(); }, description));
}

void ArgumentParser::set_version(const std::string& text) {
  app_->set_version_flag("--version", text);
}

void ArgumentParser::set_footer(const std::string& text) { app_->footer(text); }

void ArgumentParser::set_help(std::function<std::string()> make) {
  app_->formatter(std::make_shared<HelpFormatter>(std::move(make)));
}

void ArgumentParser::show_defaults() { app_->option_defaults()->always_capture_default(); }

void ArgumentParser::let_last_win() {
  app_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void ArgumentParser::add_subcommand(ArgumentParser& command) {
  app_->require_subcommand(1);
  app_->add_subcommand(command.app_);
}

bool ArgumentParser::parsed() const { return app_->parsed(); }

std::vector<Option> ArgumentParser::options() const {
  std::vector<Option> options;
  for (CLI::Option* const option : app_->get_options()) {
    if (option != app_->get_help_ptr()) options.emplace_back(*option);
  }
  return options;
}

std::optional<Option> ArgumentParser::find(const std::string& name) const {
  CLI::Option* const option = app_->get_option_no_throw(name);
  return option == nullptr ? std::nullopt : std::optional<Option>(*option);
}

std::optional<std::string> ArgumentParser::parse(std::vector<std::string> arguments) {
  try {
    app_->parse(reversed(std::move(arguments)));
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (!is_request(error)) throw ArgumentError(error.what());
    std::ostringstream text;
    app_->exit(error, text);
    return text.str();
  }
}

std::optional<int> ArgumentParser::parse_or_print(std::vector<std::string> arguments,
                                                  const std::function<void()>& check) {
  try {
    app_->parse(reversed(std::move(arguments)));
    check();
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    app_->exit(error);
    return is_request(error) ? 0 : 2;
  } catch (const ArgumentError& error) {
    app_->exit(CLI::ValidationError(error.what()));
    return 2;
  }
}

}  // namespace recordpipe
