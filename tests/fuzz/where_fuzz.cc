// Parses any bytes as a where expression: it is refused with a column, or evaluates to the same
// answer twice, and its negation to the contrary. Regular expressions in it search the input, too.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "dataset/toolkit/where/regex.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/example_builder.h"
#include "recordpipe/toolkit/where.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

const std::string& some_example() {
  static const std::string example = ExampleBuilder()
                                         .set_int64("label", 3)
                                         .set_float("weight", 0.5f)
                                         .set_bytes("name", "cat€")
                                         .set_bytes("words", "b")
                                         .serialize();
  return example;
}

void check_expression(const std::string& input) {
  MessageView message;
  message.read(as_bytes(some_example()));
  const NumberedRecord record = {
      {.data = as_bytes(some_example()), .offset = 7, .path = "train-00001"}, 2};
  try {
    const Where where(input);
    const bool matches = where.matches(message, record);
    require(where.matches(message, record) == matches, "two answers");
    try {
      require(Where("not (" + input + ")").matches(message, record) != matches,
              "equals its negation");
    } catch (const Error& error) {
      require(error.reason().find("nested") != std::string::npos, "no negation");
    }
    (void)where.require_possible(true);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::invalid_argument || error.kind() == ErrorKind::not_found,
            "another kind of error");
  }
}

void check_pattern(const std::string& input) {
  try {
    const Regex regex(input);
    const bool found = regex.found_in(input);
    require(regex.found_in(input) == found, "two answers");
    // A part of a longer text, without what looks at its ends.
    if (found && input.find_first_of("^$\\") == input.npos) {
      require(regex.found_in("\n" + input + "\n"), "not found in a longer text");
    }
    require(Regex("(" + input + ")|\x01").found_in(input + "\x01"), "an alternative is lost");
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::invalid_argument, "another kind of error");
  }
}

}  // namespace
}  // namespace recordpipe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  recordpipe::check_expression(input);
  recordpipe::check_pattern(input);
  return 0;
}
