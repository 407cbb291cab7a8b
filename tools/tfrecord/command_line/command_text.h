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

struct CommandText : Command {
  std::vector<OptionFacts> arguments = {};
  std::vector<OptionFacts> options = {};

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

enum class HelpLength {
  brief,  // -h: examples, and a line for each option
  full,   // --help
};

std::string help_text(const CommandText& command, HelpLength length);
// The help of the program itself, with one line per command.
std::string help_text(const std::vector<CommandText>& commands, HelpLength length);

}  // namespace recordpipe
