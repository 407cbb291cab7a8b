// What a subcommand says of itself, taken from its Command and the options that it defines, and
// --help, which is made of it. So are the man pages and the shells' completions (commands/man.cc,
// completion.cc).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

// An option, a flag, or an argument by its place.
struct OptionText {
  std::vector<std::string> names = {};    // {"-o", "--output"}; an argument's is {"FILE"}
  std::string value = {};                 // "FILE", "auto|none|gzip"; "" for a flag
  std::vector<std::string> choices = {};  // where it is one of some: {"auto", "none", "gzip"}
  std::string description = {};           // a phrase, without a full stop
  std::string default_value = {};         // "" where there is none to speak of
  bool required = false;
  bool repeated = false;  // takes several values

  // What an argument, or an option's value, names; for completions.
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

// `app` is what `command` defined its options in.
CommandText command_text(const Command& command, const CLI::App& app);

// All subcommands, in the order of --help.
std::vector<CommandText> all_command_texts();

// What the program does.
std::string program_description();

struct TextBlock {
  enum class Kind {
    paragraph,
    row,       // "csv     A header line and", with what follows below the second column
    verbatim,  // a line that is indented in another way
    gap,       // an empty line
  };

  Kind kind = Kind::paragraph;
  std::string word = {};  // of a row
  std::string text = {};  // lines of a paragraph or a row are joined by spaces
  size_t column = 0;      // of a row: where its text begins
};

std::vector<TextBlock> text_blocks(const std::string& text);

// `text` in lines of at most `width` characters, each behind `indent`. Paragraphs and rows are
// filled anew, rows with their column kept free below the word.
std::string wrapped(const std::string& text, size_t width, const std::string& indent);

std::string help_text(const CommandText& command);
// The program's own, with a line for each command.
std::string help_text(const std::vector<CommandText>& commands);

}  // namespace recordpipe
