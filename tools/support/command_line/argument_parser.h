// The command line of a program, or of a subcommand.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/support/command_line/option.h"

namespace CLI {
class App;
}  // namespace CLI

namespace recordpipe {

// A command line that can't be parsed.
class ArgumentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ArgumentError(const std::string& option, const std::string& reason)
      : std::runtime_error(option + ": " + reason) {}
};

// The arguments of main(), without the program's name.
std::vector<std::string> arguments_of(int argc, char** argv);

class ArgumentParser {
 public:
  // -h and --help are added. --help begins with the description.
  explicit ArgumentParser(const std::string& name = {}, const std::string& description = {});
  ArgumentParser(const ArgumentParser&) = delete;
  ArgumentParser& operator=(const ArgumentParser&) = delete;

  const std::string& name() const;

  // `names` are separated by commas: "-o,--output"; without hyphens it is a positional argument.
  // Variables are referenced and must live until parsing. Functions are copied.

  // T: bool, int64_t, uint64_t, double, std::string, std::vector<std::string>,
  // std::optional<uint64_t> or std::optional<double>. For other types there is no definition. An
  // option takes one value each time it is given, and a list may be given repeatedly; a positional
  // list takes all words that belong to no option.
  template <class T>
  Option add_option(const std::string& names, T& value, const std::string& description);
  // `use` may throw ArgumentError.
  Option add_option_function(const std::string& names,
                             const std::function<void(const std::string& text)>& use,
                             const std::string& description);
  Option add_flag(const std::string& names, bool& value, const std::string& description);
  Option add_flag_function(const std::string& names, const std::function<void()>& use,
                           const std::string& description);

  // Adds --version, which prints `text`.
  void set_version(const std::string& text);
  // Printed at the end of --help.
  void set_footer(const std::string& text);
  // Replaces the text of --help.
  void set_help(std::function<std::string()> make);

  // For all options that are added later: --help shows their defaults; the last occurrence of a
  // repeated option wins (otherwise repeating an option is an error).
  void show_defaults();
  void let_last_win();

  // `command` reads the arguments after its name. One subcommand is required.
  void add_subcommand(ArgumentParser& command);
  // Whether the name of this subcommand was reached.
  bool parsed() const;

  // All options except --help.
  std::vector<Option> options() const;
  // By a name with its hyphens, also --help; empty if there is no such option.
  std::optional<Option> find(const std::string& name) const;

  // Returns the text that --help or --version prints; empty if neither was given. Throws
  // ArgumentError.
  std::optional<std::string> parse(std::vector<std::string> arguments);
  // For programs: parses, then calls `check`, which may throw ArgumentError. If there is nothing to
  // run, prints help, version or error, and returns the exit status: 0 or 2.
  std::optional<int> parse_or_print(
      std::vector<std::string> arguments, const std::function<void()>& check = [] {});

 private:
  std::shared_ptr<CLI::App> app_;
};

}  // namespace recordpipe
