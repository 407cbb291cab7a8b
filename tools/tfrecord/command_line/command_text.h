// The documentation of a subcommand, generated from its Command and its options, and --help, which
// is made from it. So are the man pages and the shells' completions (commands/man.cc,
// completion.cc).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/support/command_line/argument_parser.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

// An option, a flag, or a positional argument.
struct OptionText {
  std::vector<std::string> names = {};    // {"-o", "--output"}; for an argument {"FILE"}
  std::string value = {};                 // "FILE", "auto|none|gzip"; "" for a flag
  std::vector<std::string> choices = {};  // allowed values, if limited: {"auto", "none", "gzip"}
  std::string description = {};           // a phrase, without a full stop
  std::string default_value = {};         // "" if there is none worth showing
  bool required = false;
  bool repeated = false;  // takes several values

  // The kind of an argument, or of an option's value; for completions.
  bool is_file() const;
  bool is_folder() const;
};

struct CommandText {
  std::string name = {};         // "index"
  std::string summary = {};      // "Writes the index that DALI reads"
  std::string description = {};  // paragraphs
  std::string examples = {};     // lines, each indented by two spaces
  std::string answers_no = {};   // "a file is damaged"
  std::vector<OptionText> arguments = {};
  std::vector<OptionText> options = {};

  // "tfrecord index [OPTIONS] FILE..."
  std::string usage() const;
};

// `app` holds the options that `command` defined.
CommandText command_text(const Command& command, const ArgumentParser& app);

// All subcommands, in the order of --help.
std::vector<CommandText> all_command_texts();

// The program's purpose.
std::string program_description();

struct TextBlock {
  enum class Kind {
    paragraph,
    row,       // "csv     A header line and", continued below the second column
    verbatim,  // a line with another indentation
    gap,       // an empty line
  };

  Kind kind = Kind::paragraph;
  std::string word = {};  // of a row
  std::string text = {};  // lines of a paragraph or a row are joined by spaces
  size_t column = 0;      // of a row: the column of its text
};

std::vector<TextBlock> text_blocks(const std::string& text);

// `text` in lines of at most `width` characters, each after `indent`. Paragraphs and rows are
// refilled; the second column of rows stays aligned.
std::string wrapped(const std::string& text, size_t width, const std::string& indent);

std::string help_text(const CommandText& command);
// The help of the program itself, with one line per command.
std::string help_text(const std::vector<CommandText>& commands);

}  // namespace recordpipe
