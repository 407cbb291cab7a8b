// Tests command lines: what is parsed, what is refused, and what the documentation is made of.
#include "tools/support/command_line/argument_parser.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/support/command_line/option.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

// Returns the reason why `words` are refused.
std::string refusal(ArgumentParser& parser, const Words& words) {
  try {
    parser.parse(words);
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(ArgumentParser, ParsesValuesOfAllTypes) {
  ArgumentParser parser;
  bool flag = false;
  int64_t number = 0;
  double real = 0;
  std::optional<uint64_t> limit;
  std::optional<double> fraction;
  std::string file;
  Words names;
  parser.add_flag("--flag", flag, "");
  parser.add_option("-n,--number", number, "");
  parser.add_option("--real", real, "");
  parser.add_option("--limit", limit, "");
  parser.add_option("--fraction", fraction, "");
  parser.add_option("--names", names, "").comma_separated();
  parser.add_option("FILE", file, "");
  EXPECT_EQ(parser.parse({"--names", "a,b", "in", "--flag", "-n-7", "--real=1e3", "--names=c",
                          "--limit", "5"}),
            std::nullopt);
  EXPECT_TRUE(flag);
  EXPECT_EQ(number, -7);
  EXPECT_EQ(real, 1000);
  EXPECT_EQ(limit, 5u);
  EXPECT_EQ(fraction, std::nullopt);
  EXPECT_EQ(file, "in");
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));
}

TEST(ArgumentParser, AnOptionTakesOneValueEachTime) {
  ArgumentParser parser;
  Words tags, names, files;
  parser.add_option("--tag", tags, "");
  parser.add_option("--names", names, "").comma_separated();
  parser.add_option("FILE", files, "");
  parser.parse({"--tag", "a", "x", "--names", "b,c", "y", "--tag", "d", "z", "w"});
  EXPECT_THAT(tags, ElementsAre("a", "d"));
  EXPECT_THAT(names, ElementsAre("b", "c"));
  EXPECT_THAT(files, ElementsAre("x", "y", "z", "w"));
}

TEST(ArgumentParser, RefusesWhatItCantParse) {
  ArgumentParser parser;
  uint64_t number = 0;
  std::string file;
  parser.add_option("--number", number, "");
  parser.add_option("FILE", file, "").required();
  EXPECT_THAT(refusal(parser, {"in", "--nothing"}), HasSubstr("--nothing"));
  EXPECT_THAT(refusal(parser, {}), HasSubstr("FILE"));
  EXPECT_THAT(refusal(parser, {"in", "--number", "x"}), HasSubstr("--number"));
  EXPECT_THAT(refusal(parser, {"in", "--number"}), HasSubstr("--number"));
  EXPECT_THAT(refusal(parser, {"in", "--number", "1", "--number", "2"}), HasSubstr("--number"));
}

TEST(ArgumentParser, CallsFunctions) {
  ArgumentParser parser;
  std::string used;
  int count = 0;
  parser.add_option_function(
      "--word",
      [&](const std::string& word) {
        if (word == "bad") throw ArgumentError("--word", "bad is not a word");
        used = word;
      },
      "");
  parser.add_flag_function(
      "--count", [&] { ++count; }, "");
  parser.parse({"--word", "good", "--count"});
  EXPECT_EQ(used, "good");
  EXPECT_EQ(count, 1);
  EXPECT_EQ(refusal(parser, {"--word", "bad"}), "--word: bad is not a word");
}

TEST(ArgumentParser, ChecksAndTransforms) {
  ArgumentParser parser;
  std::string size;
  uint64_t shards = 0;
  int64_t offset = 0;
  std::string format;
  const auto not_empty = [](const std::string& text) { return text.empty() ? "is empty" : ""; };
  parser.add_option("--size", size, "").check(not_empty).transform([](std::string& text) {
    return size_to_bytes(text, /*kb_is_1000=*/true);
  });
  parser.add_option("--shards", shards, "").between(uint64_t{1}, uint64_t{256});
  parser.add_option("--offset", offset, "").between(int64_t{-1}, int64_t{1});
  const Option choice = parser.add_option("--format", format, "").one_of({"json", "text"});
  parser.parse({"--size", "3KB", "--shards", "256", "--offset=-1", "--format", "text"});
  EXPECT_EQ(size, "3000");
  EXPECT_EQ(shards, 256u);
  EXPECT_EQ(offset, -1);
  EXPECT_EQ(format, "text");
  EXPECT_EQ(choice.facts().type_name, "json|text");
  for (const Words& words : {Words{"--size", ""},
                             {"--size", "3 apples"},
                             {"--shards", "0"},
                             {"--shards", "257"},
                             {"--shards", "-1"},
                             {"--offset", "2"},
                             {"--offset=-2"},
                             {"--format", "xml"}}) {
    EXPECT_THAT(refusal(parser, words), HasSubstr(words[0].substr(0, 6)));
  }
}

TEST(ArgumentParser, OptionsExcludeAndNeedOthers) {
  ArgumentParser parser;
  bool a = false, b = false, c = false;
  const Option first = parser.add_flag("-a", a, "");
  parser.add_flag("-b", b, "").excludes(first);
  parser.add_flag("-c", c, "").needs(first);
  EXPECT_EQ(parser.parse({"-a", "-c"}), std::nullopt);
  EXPECT_NE(refusal(parser, {"-a", "-b"}), "not refused");
  EXPECT_NE(refusal(parser, {"-b", "-a"}), "not refused");
  EXPECT_NE(refusal(parser, {"-c"}), "not refused");
}

TEST(ArgumentParser, ReturnsTheTextsOfHelpAndVersion) {
  ArgumentParser parser("program", "Does something.");
  bool flag = false;
  parser.add_flag("--flag", flag, "Does it twice");
  parser.set_version("program 1.2");
  parser.set_footer("The end.");
  const std::string help = parser.parse({"--help"}).value_or("");
  EXPECT_THAT(help, HasSubstr("Does something."));
  EXPECT_THAT(help, HasSubstr("Does it twice"));
  EXPECT_THAT(help, HasSubstr("The end."));
  EXPECT_EQ(parser.parse({"--version"}), "program 1.2\n");
  parser.set_help([] { return "own help"; });
  EXPECT_EQ(parser.parse({"-h"}), "own help");
}

TEST(ArgumentParser, DefaultsAndRepetitionsConcernLaterOptions) {
  ArgumentParser parser;
  uint64_t before = 1;
  uint64_t after = 2;
  const Option early = parser.add_option("--before", before, "");
  parser.show_defaults();
  parser.let_last_win();
  const Option late = parser.add_option("--after", after, "");
  EXPECT_EQ(early.facts().default_text, "");
  EXPECT_EQ(late.facts().default_text, "2");
  EXPECT_EQ(early.show_default().facts().default_text, "1");
  EXPECT_EQ(early.default_text("some").facts().default_text, "some");
  parser.parse({"--after", "5", "--after", "6"});
  EXPECT_EQ(after, 6u);
  EXPECT_NE(refusal(parser, {"--before", "5", "--before", "6"}), "not refused");
}

TEST(ArgumentParser, TellsTheFactsOfOptions) {
  ArgumentParser parser;
  bool flag = false;
  std::string output;
  Words files;
  parser.add_option("FILE", files, "Files to read").required();
  parser.add_option("-o,--output", output, "Where to write").type_name("PATH");
  parser.add_flag("--flag", flag, "").description("A flag");
  const std::vector<Option> options = parser.options();
  ASSERT_EQ(options.size(), 3u);
  const OptionFacts file = options[0].facts();
  EXPECT_THAT(file.names, ElementsAre("FILE"));
  EXPECT_TRUE(file.is_argument && file.required && file.repeated && !file.is_flag);
  const OptionFacts out = options[1].facts();
  EXPECT_THAT(out.names, ElementsAre("-o", "--output"));
  EXPECT_EQ(out.type_name, "PATH");
  EXPECT_EQ(out.description, "Where to write");
  EXPECT_TRUE(!out.is_argument && !out.required && !out.repeated && !out.is_flag);
  EXPECT_TRUE(options[2].facts().is_flag);
  EXPECT_EQ(options[2].facts().description, "A flag");
  EXPECT_EQ(parser.find("--output"), options[1]);
  EXPECT_TRUE(parser.find("--help"));
  EXPECT_FALSE(parser.find("--nothing"));
  parser.parse({"in", "-o", "out"});
  EXPECT_TRUE(options[1].was_given());
  EXPECT_EQ(options[1].text(), "out");
  EXPECT_FALSE(options[2].was_given());
}

TEST(ArgumentParser, ParsesSubcommands) {
  ArgumentParser program("program");
  uint64_t limit = 0;
  {
    ArgumentParser show("show", "Shows");
    show.add_option("--limit", limit, "");
    ArgumentParser count("count", "Counts");
    program.add_subcommand(show);
    program.add_subcommand(count);
    program.parse({"show", "--limit", "3"});
    EXPECT_TRUE(show.parsed());
    EXPECT_FALSE(count.parsed());
  }
  EXPECT_EQ(limit, 3u);
  EXPECT_NE(refusal(program, {}), "not refused");
  program.parse({"show", "--limit", "4"});
  EXPECT_EQ(limit, 4u) << "a subcommand shares its options with the parser";
}

TEST(ArgumentParser, PrintsInsteadOfRunning) {
  ArgumentParser parser("program");
  parser.set_version("program 1.2");
  testing::internal::CaptureStdout();
  EXPECT_EQ(parser.parse_or_print({"--version"}), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "program 1.2\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(parser.parse_or_print({"--nothing"}), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("--nothing"));
  testing::internal::CaptureStderr();
  const auto check = [] { throw ArgumentError("--a", "contradicts --b"); };
  EXPECT_EQ(parser.parse_or_print({}, check), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("--a: contradicts --b"));
  EXPECT_EQ(parser.parse_or_print({}), std::nullopt);
}

TEST(SizeToBytes, KnowsUnits) {
  const auto bytes = [](std::string text, bool kb_is_1000 = true) {
    const std::string error = size_to_bytes(text, kb_is_1000);
    return error.empty() ? text : "refused";
  };
  EXPECT_EQ(bytes("4096"), "4096");
  EXPECT_EQ(bytes("1GiB"), "1073741824");
  EXPECT_EQ(bytes("2KB"), "2000");
  EXPECT_EQ(bytes("2KB", false), "2048");
  EXPECT_EQ(bytes("two"), "refused");
  EXPECT_EQ(bytes(""), "refused");
  EXPECT_EQ(bytes("99999999999999GiB"), "refused");
}

}  // namespace
}  // namespace recordpipe
