// tfrecord completion: prints a completion script for a shell.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/command_text.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/output.h"

namespace recordpipe {
namespace {

std::string joined(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : separator).append(word);
  return text;
}

// Returns `text` in single quotes, valid in bash and zsh.
std::string single_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

// --- bash --------------------------------------------------------------------------------------

constexpr char kBashHead[] = R"(# bash completion for tfrecord, made by `tfrecord completion bash`.

# Lets readline complete names of files (default) or of folders (dirnames).
_tfrecord_names() { compopt -o "$1" -o filenames 2>/dev/null; }

_tfrecord_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2"); }

_tfrecord() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= i
  COMPREPLY=()
  # --option=value comes in three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]] && ((COMP_CWORD > 1)); then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }
  done
  case $command in
)";

constexpr char kBashTail[] = R"(  esac
}
complete -F _tfrecord tfrecord
)";

// Returns the command that completes a value of `option`; "" if the values are unknown.
std::string bash_values(const OptionFacts& option) {
  if (!option.choices.empty()) {
    return fmt::format("_tfrecord_words {} \"$current\"",
                       single_quoted(joined(option.choices, " ")));
  }
  if (option.is_folder()) return "_tfrecord_names dirnames";
  return option.is_file() ? "_tfrecord_names default" : "";
}

std::string bash_case(const CommandText& command) {
  std::string text = fmt::format("    {})\n      case $previous in\n", command.name);
  std::vector<std::string> names;
  for (const OptionFacts& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
    if (option.type_name.empty()) continue;
    std::string values = bash_values(option);
    if (!values.empty()) values += "; ";
    text += fmt::format("        {}) {}return ;;\n", joined(option.names, "|"), values);
  }
  text += "      esac\n";
  text +=
      fmt::format("      if [[ $current == -* ]]; then\n        _tfrecord_words {} \"$current\"\n",
                  single_quoted(joined(names, " ")));
  // Simplification: every argument is completed like the first one that can be.
  std::string values;
  for (const OptionFacts& argument : command.arguments) {
    if (values.empty()) values = bash_values(argument);
  }
  if (!values.empty()) text += "      else\n        " + values + "\n";
  return text + "      fi ;;\n";
}

// --- zsh ---------------------------------------------------------------------------------------

constexpr char kZshHead[] = R"(#compdef tfrecord
# zsh completion for tfrecord, made by `tfrecord completion zsh`.

_tfrecord() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C '(- *)'{-h,--help}'[print help]' '(- *)--version[print the version]' \
    '1: :->command' '*:: :->arguments'
  case $state in
    command)
      local -a commands=(
)";

constexpr char kZshMiddle[] = R"(      )
      _describe -t commands command commands ;;
    arguments)
      case $words[1] in
)";

constexpr char kZshTail[] = R"(      esac ;;
  esac
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _tfrecord "$@"
else
  compdef _tfrecord tfrecord
fi
)";

// Escapes `text` for _arguments and _describe, in which brackets and colons have a meaning.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_values(const OptionFacts& option) {
  if (!option.choices.empty()) return "(" + joined(option.choices, " ") + ")";
  if (option.is_folder()) return "_files -/";
  return option.is_file() ? "_files" : " ";
}

std::string zsh_case(const CommandText& command) {
  std::string text = fmt::format("        {})\n          _arguments -s", command.name);
  for (const OptionFacts& option : command.options) {
    const std::string value =
        option.type_name.empty() ? "" : ":" + zsh_text(option.type_name) + ":" + zsh_values(option);
    const std::string shut_out = option.repeated ? "" : "(" + joined(option.names, " ") + ")";
    for (const std::string& name : option.names) {
      text += " \\\n            " + single_quoted((option.repeated ? "*" : shut_out) + name + "[" +
                                                  zsh_text(option.description) + "]" + value);
    }
  }
  for (const OptionFacts& argument : command.arguments) {
    text += " \\\n            " +
            single_quoted(std::string(argument.repeated ? "*" : "") + ":" +
                          zsh_text(argument.names.front()) + ":" + zsh_values(argument));
  }
  return text + " ;;\n";
}

// For bash 4.4 and later; needs no other package.
std::string bash_completion(const std::vector<CommandText>& commands) {
  std::string text = kBashHead;
  std::vector<std::string> names;
  for (const CommandText& command : commands) {
    names.push_back(command.name);
    text += bash_case(command);
  }
  names.insert(names.end(), {"-h", "--help", "--version"});
  text += fmt::format("    '') _tfrecord_words {} \"$current\" ;;\n",
                      single_quoted(joined(names, " ")));
  return text + kBashTail;
}

// For zsh with compinit: to be sourced, or installed as _tfrecord in a folder of fpath.
std::string zsh_completion(const std::vector<CommandText>& commands) {
  std::string text = kZshHead;
  for (const CommandText& command : commands) {
    text +=
        "        " + single_quoted(zsh_text(command.name) + ":" + zsh_text(command.summary)) + "\n";
  }
  text += kZshMiddle;
  for (const CommandText& command : commands) text += zsh_case(command);
  return text + kZshTail;
}

// --- fish --------------------------------------------------------------------------------------

// Returns `text` in single quotes, in which fish knows \\ and \' as escapes.
std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') out += '\\';
    out += c;
  }
  return out + "'";
}

// Returns the options of `complete` for the values of an option or argument.
std::string fish_values(const OptionFacts& option) {
  if (!option.choices.empty()) return "-x -a " + fish_quoted(joined(option.choices, " "));
  if (option.is_folder()) return "-x -a '(__fish_complete_directories)'";
  return option.is_file() ? "-r -F" : "-x";
}

std::string fish_lines(const CommandText& command) {
  const std::string start =
      fmt::format("complete -c tfrecord -n '__fish_seen_subcommand_from {}'", command.name);
  std::string text;
  for (const OptionFacts& option : command.options) {
    text += start;
    for (const std::string& name : option.names) {
      text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (!option.type_name.empty()) text += " " + fish_values(option);
    text += " -d " + fish_quoted(option.description) + "\n";
  }
  for (const OptionFacts& argument : command.arguments) {
    if (!argument.choices.empty()) text += start + " " + fish_values(argument) + "\n";
    if (argument.is_file()) return text + start + " -F\n";  // as all that follow
  }
  return text;
}

// For fish 3: to be sourced, or installed as tfrecord.fish in a folder of fish_complete_path.
std::string fish_completion(const std::vector<CommandText>& commands) {
  std::string text =
      "# fish completion for tfrecord, made by `tfrecord completion fish`.\n\n"
      "complete -c tfrecord -f\n"
      "complete -c tfrecord -n __fish_use_subcommand -s h -l help -d 'print the help'\n"
      "complete -c tfrecord -n __fish_use_subcommand -l version -d 'print the version'\n";
  for (const CommandText& command : commands) {
    text += fmt::format("complete -c tfrecord -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        fish_quoted(command.summary));
  }
  for (const CommandText& command : commands) text += fish_lines(command);
  return text;
}

struct CompletionArguments {
  std::string shell = {};
  std::string output = {};
};

ExitCode print_completion(const CompletionArguments& arguments, const CommandContext& context) {
  Output out(context, arguments.output);
  const std::vector<CommandText> commands = all_command_texts();
  out.write(arguments.shell == "bash"  ? bash_completion(commands)
            : arguments.shell == "zsh" ? zsh_completion(commands)
                                       : fish_completion(commands));
  out.close();
  return ExitCode::ok;
}

}  // namespace

Command completion_command() {
  return {.name = "completion",
          .summary = "Prints a script that completes tfrecord's command lines",
          .description = "For subcommands, options, their values, and files.",
          .examples =
              R"(  source <(tfrecord completion bash)              # this shell, or ~/.bashrc
  tfrecord completion zsh > ~/.zfunc/_tfrecord    # a folder of zsh's fpath
  tfrecord completion fish > ~/.config/fish/completions/tfrecord.fish
)",
          .define = [](CommandApp& app) -> CommandAction {
            const auto arguments = std::make_shared<CompletionArguments>();
            app.add_option("SHELL", arguments->shell, "bash, zsh or fish")
                .required()
                .one_of({"bash", "zsh", "fish"});
            add_output(app, arguments->output, [] { return "text"; });
            return [arguments](const CommandContext& context) {
              return print_completion(*arguments, context);
            };
          }};
}

}  // namespace recordpipe
