// Tests regular expressions: their syntax, UTF-8, and hostile patterns and texts.
// (tests/cli/tfrecord_where_test.py compares them with Python's.)
#include "dataset/toolkit/where/regex.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

bool found(std::string_view pattern, std::string_view text) {
  return Regex(pattern).found_in(text);
}

TEST(Regex, Syntax) {
  struct Case {
    const char* pattern;
    std::vector<const char*> found_in;
    std::vector<const char*> not_found_in;
  };
  const std::vector<Case> cases = {
      {"", {"", "a"}, {}},
      {"cat", {"cat", "a cat", "cats"}, {"", "ca", "dog"}},
      {"^cat$", {"cat"}, {"cats", "a cat", "cat\n"}},
      {"\\Acat\\z", {"cat"}, {"cats"}},
      {"c.t", {"cat", "c t"}, {"ct", "c\nt"}},
      {"(?s)c.t", {"c\nt"}, {"ct"}},
      {"cat|dog", {"cat", "hot dog"}, {"ca", "do"}},
      {"^(cat|dog)s?$", {"cat", "dogs"}, {"catss", "cow"}},
      {"^a*$", {"", "aaa"}, {"b", "ab"}},
      {"^a+$", {"a", "aaa"}, {"", "ab"}},
      {"^a+?b*?$", {"a", "aab"}, {"", "ba"}},
      {"^a{2}$", {"aa"}, {"a", "aaa"}},
      {"^a{2,}$", {"aa", "aaaa"}, {"a"}},
      {"^a{1,2}$", {"a", "aa"}, {"", "aaa"}},
      {"^(ab){2}$", {"abab"}, {"ab", "aab"}},
      {"a{x}", {"a{x}"}, {"a"}},
      {"a{,2}", {"a{,2}"}, {"aa"}},
      {"^[a-c_]+$", {"abc_"}, {"", "d", "a-c"}},
      {"^[^a-c]$", {"d", "\n"}, {"a"}},
      {"^[]a-]+$", {"]a-"}, {"b"}},
      {"^\\d+\\s\\w+$", {"12 ab_3"}, {"12ab", "a b"}},
      {"^\\D\\S\\W$", {"a.!"}, {"1.!"}},
      {"^[\\d.]+$", {"1.2"}, {"a"}},
      {"\\bcat\\b", {"cat", "a cat.", "(cat)"}, {"cats", "bobcat", "cat_"}},
      {"\\Bcat", {"bobcat"}, {"cat", "a cat"}},
      {"a\\.b\\x41\\n", {"a.bA\n"}, {"axbA\n"}},
      {"(?i)CaT[x-z]", {"catY", "CATx"}, {"ca"}},
      {"(?i:c)at", {"Cat", "cat"}, {"CAT"}},
      {"(?i)^\u00c9t\u00e9 \u0436[\u03b1-\u03c9]$",
       {"\u00e9T\u00c9 \u0416\u03a3"},
       {"ete \u0416\u03a3"}},
      {"(?i)^[^\u00e9]$", {"e"}, {"\u00e9", "\u00c9"}},
      {"(?i)^\u0101\u0102$", {"\u0100\u0103"}, {"\u0101\u0104"}},
      {"(?i)^k\\W$", {"\u212a."}, {"Ks"}},
      {"a(?i)b|c", {"aB", "C"}, {"Ab"}},
      {"(a*)*b", {"aab", "b"}, {"aaa"}},
      {"(|a)+$", {"", "aa"}, {}},
      {"$^", {""}, {"a"}},
      {"a^b", {}, {"ab", "a\nb"}},
  };
  for (const auto& [pattern, positive, negative] : cases) {
    for (const char* text : positive) EXPECT_TRUE(found(pattern, text)) << pattern << " " << text;
    for (const char* text : negative) EXPECT_FALSE(found(pattern, text)) << pattern << " " << text;
  }
}

TEST(Regex, CharactersAreThoseOfUtf8) {
  EXPECT_TRUE(found("^.{2}$", "é€"));
  EXPECT_FALSE(found("^.{5}$", "é€"));
  EXPECT_TRUE(found("^[à-ï😀]+$", "éà😀"));
  EXPECT_FALSE(found("^[à-ï]$", "ð"));
  EXPECT_TRUE(found("^[^a]$", "\U0010ffff"));
  EXPECT_TRUE(found("\\x{20ac}", "1 €"));
  EXPECT_TRUE(found("^\\B.$", "é"));
  EXPECT_TRUE(found("^\\p{Greek}+$", "αβγ"));
  // Other bytes are matched by no character.
  EXPECT_FALSE(found("^.$", "\xff"));
  EXPECT_FALSE(found("^[^a]$", "\x80"));
  EXPECT_TRUE(found("^\\x00$", std::string_view("\0", 1)));
}

TEST(Regex, PatternsOfBytes) {
  EXPECT_TRUE(found("^\\xff\\xd8", "\xff\xd8\xff"));
  EXPECT_TRUE(found("^\xff\xd8", "\xff\xd8\xff"));
  EXPECT_TRUE(found("^.[\\x80-\\xff]$", "\xff\x80"));
  EXPECT_FALSE(found("^\\xe9$", "é"));
  EXPECT_TRUE(found("\\xffé", "\xffé"));
  EXPECT_TRUE(found("^\\\\xff$", "\\xff")) << "a backslash that is escaped";
  EXPECT_TRUE(found("^é.$", "éé"));
}

std::string complaint(const std::string& pattern) {
  try {
    const Regex regex(pattern);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.reason();
  }
  return "none";
}

TEST(Regex, MistakesNameTheByte) {
  struct Case {
    const char* pattern;
    const char* complaint;
  };
  const std::vector<Case> cases = {
      {"ab(", "the pattern: missing ): ab("},
      {"ab)", "the pattern: unexpected ): ab)"},
      {"x[ab", "byte 2 of the pattern: missing ]: [ab"},
      {"*a", "byte 1 of the pattern: no argument for repetition operator: *"},
      {"ba**", "byte 3 of the pattern: bad repetition operator: **"},
      {"a++|b++", "the pattern: bad repetition operator: ++"},
      {"a{3,2}", "byte 2 of the pattern: invalid repetition size: {3,2}"},
      {"a{1001}", "byte 2 of the pattern: invalid repetition size: {1001}"},
      {"[b-a]", "byte 2 of the pattern: invalid character class range: b-a"},
      {"\\q\n", "byte 1 of the pattern: invalid escape sequence: \\q"},
      {"[\\", "the pattern: trailing \\"},
      {"a\\x{110000}", "byte 2 of the pattern: invalid escape sequence: \\x{110000"},
      {"é(?=a)", "byte 3 of the pattern: invalid perl operator: (?=, look-around isn't supported"},
      {"(a)\\1",
       "byte 4 of the pattern: invalid escape sequence: \\1, back-references aren't supported"},
  };
  for (const auto& [pattern, expected] : cases) EXPECT_EQ(complaint(pattern), expected);
  // RE2's versions name "(?<" or "(?<!".
  EXPECT_TRUE(complaint("(?<!a)b").ends_with(", look-around isn't supported"));
}

TEST(Regex, HostilePatternsAreRefused) {
  for (const std::string& pattern : {std::string(1'000'000, '('), std::string(1'000'000, 'a'),
                                     std::string("(.{100}){10}{10}")}) {
    EXPECT_NE(complaint(pattern), "none") << pattern.substr(0, 40);
  }
  EXPECT_EQ(complaint("((\\pL{100}){10}b)(\\pN{1000}|\\pL{1000})"), "the pattern is too large");
  EXPECT_EQ(complaint("(((a{1000}){1000}){1000})"), "the pattern: invalid repetition size: {1000}");
  EXPECT_EQ(complaint("((((){1000}){1000}){1000}){1000}"),
            "the pattern: invalid repetition size: {1000}");
  EXPECT_EQ(complaint(std::string(5000, '(') + std::string(5000, ')')), "none");
  EXPECT_LT(complaint(std::string(5000, '(')).size(), 200);
}

// A backtracking matcher takes years for these, or overflows the stack.
TEST(Regex, TimeIsLinear) {
  const std::string text(1'000'000, 'a');
  EXPECT_FALSE(found("^(a+)+$", text + "b"));
  EXPECT_FALSE(found("(a|a)*(a|a)*(a|a)*b", text));
  EXPECT_TRUE(found("(.*)*$", text));
  EXPECT_FALSE(found("(x+x+)+y", std::string(1'000'000, 'x')));
}

// The automaton of this pattern has 2^16 states for this text: more than its memory allows.
TEST(Regex, MemoryIsBounded) {
  std::string text;
  uint32_t random = 1;
  for (int i = 0; i < 200'000; ++i) {
    random = random * 1664525 + 1013904223;
    text += random >> 31 == 0 ? 'a' : 'b';
  }
  EXPECT_FALSE(found("a[ab]{15}c", text));
  EXPECT_TRUE(found("a[ab]{15}c", text + std::string(16, 'a') + "c"));
}

TEST(Regex, SeveralThreads) {
  const Regex regex("^(cat|dog)[0-9]+$");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&regex, t] {
      for (int i = 0; i < 2000; ++i) {
        EXPECT_TRUE(regex.found_in((t % 2 == 0 ? "cat" : "dog") + std::to_string(i)));
        EXPECT_FALSE(regex.found_in("cow" + std::to_string(i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace recordpipe
