// A subcommand's options. Options that name files declare whether these are read or written: the
// command line refuses a result that would replace an input (io/output.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/io/file.h"
#include "tools/support/command_line/argument_parser.h"

namespace recordpipe {

struct CommandContext;

using PathsOf = std::function<std::vector<std::string>(const CommandContext& context)>;

struct InputOption {
  Option option;
  PathsOf paths;  // files, URLs or "-", once the command line is parsed; empty if it names none
};

struct OutputOption {
  Option option;
  // The files that the result replaces; empty: the file that the option names.
  PathsOf replaced;
  // Whether the result may replace an input, because it is the only one, and the command writes all
  // its records again. Empty: never.
  std::function<bool(const CommandContext& context)> may_replace_input;
  // The format of the result (require_name_of_export()); "" for any. Empty: the command checks its
  // name.
  std::function<std::string_view()> format = {};
};

class CommandApp final : public ArgumentParser {
 public:
  using ArgumentParser::ArgumentParser;

  // Add an option or an argument whose value names files to read. `paths` is for values that are
  // not themselves paths.
  Option add_input(const std::string& names, std::vector<std::string>& files,
                   const std::string& description, PathsOf paths);
  Option add_input(const std::string& names, std::string& file, const std::string& description,
                   PathsOf paths = {});
  // Adds an option whose value names the result; "-" is standard output. `replaced` and
  // `may_replace_input` as in OutputOption. The first of them also adds --no-clobber.
  Option add_output(const std::string& names, std::string& path, const std::string& description,
                    PathsOf replaced = {},
                    std::function<bool(const CommandContext& context)> may_replace_input = {});

  // Of the output that was added last, as in OutputOption.
  void set_output_format(std::function<std::string_view()> format) {
    outputs_.back().format = std::move(format);
  }

  // Adds a check of the parsed command line, which may throw ArgumentError.
  void add_check(std::function<void()> check);
  void check() const;

  const std::vector<InputOption>& inputs() const { return inputs_; }
  const std::vector<OutputOption>& outputs() const { return outputs_; }
  // --no-clobber: whether files that exist must not be replaced.
  bool keeps_files() const { return keeps_files_; }

 private:
  std::vector<InputOption> inputs_;
  std::vector<OutputOption> outputs_;
  std::vector<std::function<void()>> checks_;
  bool keeps_files_ = false;
};

}  // namespace recordpipe
