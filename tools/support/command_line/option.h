// An option, a flag or an argument of a command line, as ArgumentParser (argument_parser.h) adds
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Only declared: including CLI11 takes seconds to compile.
namespace CLI {
class Option;
}  // namespace CLI

namespace recordpipe {

// For the documentation of an option.
struct OptionFacts {
  std::vector<std::string> names = {};    // {"-o", "--output"}; of an argument {"FILE"}
  std::string type_name = {};             // "FILE", "auto|none|gzip"; "" for a flag
  std::vector<std::string> choices = {};  // allowed values, if limited: {"auto", "none", "gzip"}
  std::string description = {};           // a phrase, without a full stop
  std::string default_text = {};          // "" if there is none worth showing
  bool is_argument = false;               // positional
  bool is_flag = false;                   // takes no value
  bool required = false;
  bool repeated = false;  // takes several values

  // What an argument, or an option's value, names; for completions.
  bool is_file() const;
  bool is_folder() const;
};

// Refers to an option of an ArgumentParser, and is valid as long as that. Changes return the
// option, so that calls can be chained.
class Option {
 public:
  // Returns what is wrong with a value; empty if nothing is.
  using Check = std::function<std::string(const std::string& text)>;
  // The same; may replace the value.
  using Transform = std::function<std::string(std::string& text)>;

  explicit Option(CLI::Option& option) : option_(&option) {}

  Option required() const;
  Option description(const std::string& text) const;
  // How --help calls the value. Without it: by the value's type.
  Option type_name(const std::string& name) const;
  // The default, as --help shows it: `text`, or the variable's present value.
  Option default_text(const std::string& text) const;
  Option show_default() const;

  // Checks run in the order in which they were added; transform() runs before all earlier ones.
  Option check(Check check) const;
  Option transform(Transform transform) const;
  // The value must be one of `choices`; the type name becomes "a|b|c".
  Option one_of(std::vector<std::string> choices) const;
  // A number in [least, most].
  Option between(uint64_t least, uint64_t most) const;
  Option between(int64_t least, int64_t most) const;

  // A list "a,b,c". The option may be repeated.
  Option comma_separated() const;
  // The options can't be given together.
  Option excludes(Option other) const;
  // The option can only be given together with `other`.
  Option needs(Option other) const;

  OptionFacts facts() const;

  // After parsing: whether the option was given, and, only if it was, its first value's text.
  bool was_given() const;
  const std::string& text() const;

  bool operator==(const Option&) const = default;

 private:
  CLI::Option* option_;
};

// A Transform with an additional argument: replaces a size ("4096", "100MB" or "1GiB") by its
// number of bytes. KiB are 1024 bytes; KB are too, unless `kb_is_1000`. An error may change `text`,
// too.
std::string size_to_bytes(std::string& text, bool kb_is_1000);

}  // namespace recordpipe
