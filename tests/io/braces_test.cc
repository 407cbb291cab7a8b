// Tests the expansion of braces, also against bash's.
#include "dataset/io/braces.h"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/io/glob_walk.h"
#include "recordpipe/base/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/shell.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words = BracePattern(text).words(100'000);
  for (std::string& word : words) word = without_escapes(word);
  return words;
}

ErrorKind error_kind(const std::string& text, size_t most = 1'000'000) {
  return error_of([&] { BracePattern(text).words(most); }).kind();
}

TEST(Braces, ListsAndRanges) {
  EXPECT_THAT(words_of("a-{x,yz}.b"), ElementsAre("a-x.b", "a-yz.b"));
  EXPECT_THAT(words_of("{a,b}{1,2}"), ElementsAre("a1", "a2", "b1", "b2"));
  EXPECT_THAT(words_of("{8..11}"), ElementsAre("8", "9", "10", "11"));
  EXPECT_THAT(words_of("{008..11}"), ElementsAre("008", "009", "010", "011"));
  EXPECT_THAT(words_of("{2..-1}"), ElementsAre("2", "1", "0", "-1"));
  EXPECT_THAT(words_of("{-01..1}"), ElementsAre("-01", "000", "001"));
  EXPECT_THAT(words_of("{0..20..8}"), ElementsAre("0", "8", "16"));
  EXPECT_THAT(words_of("{3..1..-1}"), ElementsAre("3", "2", "1"));
  EXPECT_THAT(words_of("{c..a}"), ElementsAre("c", "b", "a"));
  EXPECT_THAT(words_of("{a,b{1..2}}"), ElementsAre("a", "b1", "b2"));
  EXPECT_THAT(words_of("x{,y}"), ElementsAre("x", "xy"));
  EXPECT_THAT(words_of("{,}"), IsEmpty());
  EXPECT_EQ(words_of("{0000..1023}").size(), 1024U);
}

TEST(Braces, OtherBracesAreLiteral) {
  for (const std::string text :
       {"a{b", "a}b", "{}", "{a}", "{a,b", "a,b}", "{1..}", "{..1}", "{1..x}", "{a..Z}", "{1...3}",
        "{99999999999999999999..3}", "{1.5..3}", "{ 1..3}"}) {
    EXPECT_FALSE(BracePattern(text).expands() && words_of(text).size() > 1) << text;
    EXPECT_THAT(words_of(text), ElementsAre(text));
  }
  EXPECT_THAT(words_of("a{b,c}{d"), ElementsAre("ab{d", "ac{d"));
  EXPECT_THAT(words_of("{a{b,c}}"), ElementsAre("{ab}", "{ac}"));
  EXPECT_THAT(words_of("\\{a,b}"), ElementsAre("{a,b}"));
  EXPECT_THAT(words_of("{a\\,b,c}"), ElementsAre("a,b", "c"));
}

TEST(Braces, HugeExpansionsAreRefusedBeforeTheyTakeMemory) {
  const auto limit = ErrorKind::limit_exceeded;
  EXPECT_EQ(error_kind("{0..99999999999}"), limit);
  EXPECT_EQ(error_kind("{-9223372036854775808..9223372036854775807}"), limit);
  EXPECT_EQ(error_kind("{1..1000}{1..1000}{1..1000}{1..1000}{1..1000}{1..1000}{1..1000}"), limit);
  std::string many;
  for (int i = 0; i < 900; ++i) many += "{a,b}";
  EXPECT_EQ(error_kind(many), limit);
  EXPECT_EQ(error_kind("{1..1001}", 1000), limit);
  EXPECT_EQ(BracePattern("{1..1000}").words(1000).size(), 1000U);
  // Few words, each as long as the pattern.
  EXPECT_EQ(error_kind(std::string(100'000, 'x') + "{1..100000}"), limit);
  // Zeros that only the width takes.
  EXPECT_EQ(error_kind("{" + std::string(100'000, '0') + "1..100000}"), limit);
}

TEST(Braces, DeepOrManyBracesAreRefused) {
  std::string deep = "x";
  for (int i = 0; i < 60; ++i) deep = "{" + deep + ",y}";
  EXPECT_EQ(words_of(deep).size(), 61U);
  for (int i = 0; i < 60; ++i) deep = "{" + deep + ",y}";
  EXPECT_EQ(error_kind(deep), ErrorKind::limit_exceeded);
  EXPECT_THAT(words_of(std::string(1000, '{')), ElementsAre(std::string(1000, '{')));
  EXPECT_EQ(error_kind(std::string(1001, '{')), ErrorKind::limit_exceeded);
  EXPECT_EQ(error_kind("{a," + std::string(200'000, 'b') + "}"), ErrorKind::limit_exceeded);
  // Without braces, any length is a name.
  EXPECT_THAT(words_of(std::string(200'000, 'b')), ElementsAre(std::string(200'000, 'b')));
}

TEST(Braces, ExpandAsBashDoes) {
  const TemporaryDirectory directory;
  std::mt19937 random(7);
  const std::vector<std::string> pieces = {
      "{", "{", "{", "}",  "}",  "}", ",", ",",   ",",   "..",  "..",  "a",      "b",    "0",
      "1", "3", "-", "02", "-1", ".", "+", "\\{", "\\,", "\\}", "\\a", "{1..3}", "{a,b}"};
  std::vector<std::string> texts;
  while (texts.size() < 4000) {
    std::string text;
    const size_t size = 1 + random() % 12;
    for (size_t i = 0; i < size; ++i) text += pieces[random() % pieces.size()];
    texts.push_back(text);
  }
  const auto expected = bash_expansions(texts, directory.path());
  ASSERT_EQ(expected.size(), texts.size());
  size_t expanded = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(words_of(texts[i]), expected[i]) << texts[i];
    expanded += expected[i].size() > 1 ? 1 : 0;
  }
  EXPECT_GT(expanded, 300U);
}

}  // namespace
}  // namespace recordpipe
