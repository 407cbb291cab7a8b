// Tests the where language.
#include "recordpipe/toolkit/where.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/example/example_builder.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

std::string some_example() {
  const std::vector<int64_t> several = {1, 5, 9};
  const std::vector<float> none;
  return ExampleBuilder()
      .set_int64("label", 3)
      .set_int64s("several", several)
      .set_int64("big", (int64_t{1} << 53) + 1)
      .set_float("weight", 0.1f)
      .set_float("nothing", 0)
      .set_float("nan", std::numeric_limits<float>::quiet_NaN())
      .set_float("infinite", std::numeric_limits<float>::infinity())
      .set_floats("empty", none)
      .set_bytes("name", "it's a cat")
      .set_bytes("image/file.name:a-b", "x.png")
      .set_bytes("with space", "1")
      .set_int64("len", 4)
      .set_int64("not", 5)
      .serialize();
}

bool matches(const std::string& expression) {
  const std::string example = some_example();
  MessageView message;
  message.read(as_bytes(example));
  return Where(expression).matches(message);
}

TEST(Where, Comparisons) {
  for (const char* expression : {"label == 3",
                                 "label==3",
                                 " label  ==  3 ",
                                 "label != 2",
                                 "label < 4",
                                 "label <= 3",
                                 "label > 2.5",
                                 "label >= 3",
                                 "label == 3.0",
                                 "label == +3",
                                 "label > -1",
                                 "weight == 0.1",
                                 "weight < 1",
                                 "weight > 1e-3",
                                 "name == 'it\\'s a cat'",
                                 "name == \"it's a cat\"",
                                 "name > 'it'",
                                 "name != 'dog'",
                                 "image/file.name:a-b == 'x.png'",
                                 "`with space` == '1'",
                                 "\"with space\" == '1'",
                                 "name == 'it\\x27s a cat'",
                                 "big > 9007199254740992.0",
                                 "nan != 0",
                                 "len == 4",
                                 "label in [1, 2, 3]",
                                 "label in (3)",
                                 "label not in [1, 2]",
                                 "name in ['dog', \"it's a cat\"]"}) {
    EXPECT_TRUE(matches(expression)) << expression;
  }
  for (const char* expression :
       {"label == 2", "label != 3", "label < 3", "label == 3.5", "label == '3'", "weight > 0.1",
        "weight == '0.1'", "name == 3", "name < 'it'", "big == 9007199254740992.0", "nan == 0",
        "nan < 1e30", "nan > -1e30", "label in [1, 2]", "label not in [3]", "label == 1e300",
        "label < -1e300"}) {
    EXPECT_FALSE(matches(expression)) << expression;
  }
}

// As in IEEE 754, NaN is not equal to, less than or greater than any number.
TEST(Where, NanAndInfinities) {
  for (const char* how : {"==", "<", "<=", ">", ">="}) {
    for (const char* number : {"0", "-1.5", "1e300"}) {
      EXPECT_FALSE(matches(std::string("nan ") + how + " " + number)) << how << number;
    }
  }
  EXPECT_TRUE(matches("nan != 0"));
  EXPECT_TRUE(matches("nan != 1e300"));
  EXPECT_FALSE(matches("nan in [0, 1]"));
  EXPECT_TRUE(matches("nan not in [0, 1]"));
  EXPECT_TRUE(matches("not (nan < 0 or nan >= 0)"));
  EXPECT_TRUE(matches("infinite > 1e39"));
  EXPECT_FALSE(matches("infinite == 1e39"));
  EXPECT_FALSE(matches("infinite < -1e39"));
  EXPECT_FALSE(matches("weight > 1e39"));
  EXPECT_TRUE(matches("weight < 1e39"));
  EXPECT_TRUE(matches("nothing < 1e-50"));
  EXPECT_FALSE(matches("nothing == 1e-50"));
  EXPECT_TRUE(matches("nothing == 0"));
}

TEST(Where, SomeValueIsEnough) {
  EXPECT_TRUE(matches("several == 9"));
  EXPECT_TRUE(matches("several > 8"));
  EXPECT_TRUE(matches("several != 9"));
  EXPECT_FALSE(matches("not several == 9"));
  EXPECT_FALSE(matches("several == 2"));
  EXPECT_TRUE(matches("several not in [1, 5]"));
  EXPECT_FALSE(matches("several not in [1, 5, 9]"));
  EXPECT_FALSE(matches("not several in [1, 2]"));
  EXPECT_TRUE(matches("not several in [2, 3]"));
  EXPECT_TRUE(matches("several not in ['a', 1]"));
  EXPECT_FALSE(matches("several not in ['a', 'b']"));
  EXPECT_TRUE(matches("len(several) not in [1, 2]"));
  EXPECT_FALSE(matches("len(several) not in [1, 3]"));
}

TEST(Where, WhatIsMissingSatisfiesNothing) {
  EXPECT_FALSE(matches("missing == 3"));
  EXPECT_FALSE(matches("missing != 3"));
  EXPECT_FALSE(matches("empty != 3"));
  EXPECT_FALSE(matches("missing not in [1, 2]"));
  EXPECT_FALSE(matches("empty not in [1, 2]"));
  EXPECT_FALSE(matches("len(missing) not in [1]"));
  EXPECT_TRUE(matches("not missing in [1, 2]"));
  EXPECT_FALSE(matches("len(missing) == 0"));
  EXPECT_TRUE(matches("len(empty) == 0"));
  EXPECT_TRUE(matches("has(empty)"));
  EXPECT_FALSE(matches("has(missing)"));
  EXPECT_TRUE(matches("not has(missing)"));
}

TEST(Where, AndOrNot) {
  EXPECT_TRUE(matches("label == 3 or label == 4 and label == 5"));
  EXPECT_FALSE(matches("(label == 3 or label == 4) and label == 5"));
  EXPECT_TRUE(matches("not label == 4 and label == 3"));
  EXPECT_TRUE(matches("not not label == 3"));
  EXPECT_FALSE(matches("not (label == 3 and len(several) == 3)"));
  EXPECT_TRUE(matches("len(several) in [2, 3]"));
}

TEST(Where, NamesThatAreWords) {
  EXPECT_TRUE(matches("`not` == 5"));
  EXPECT_TRUE(matches("len(len) == 1"));
}

TEST(Where, FeatureLists) {
  // Feature list "words" with the steps ["a", "b"] and []; "label" = 3 in the context.
  const std::string sequence =
      from_hex("0a10 0a0e 0a05 6c6162656c 1205 1a030a0103") +
      from_hex("1217 0a15 0a05 776f726473 120c 0a08 0a06 0a0161 0a0162 0a00");
  MessageView message;
  message.read(as_bytes(sequence));
  ASSERT_EQ(message.kind(), MessageKind::sequence_example);
  EXPECT_TRUE(Where("words == 'b'").matches(message));
  EXPECT_FALSE(Where("words == 'c'").matches(message));
  EXPECT_TRUE(Where("len(words) == 2").matches(message));
  EXPECT_TRUE(Where("has(words) and label == 3").matches(message));
}

TEST(Where, FunctionsOfStrings) {
  for (const char* expression :
       {"startswith(name, \"it's\")", "endswith(name, 'cat')", "contains(name, 's a c')",
        "contains(name, '')", "matches(name, '^it.s a (cat|dog)$')", "matches(name, 'a')",
        " matches ( name , r'\\bcat\\b' ) ", "matches(name, '\\\\bcat\\\\b')",
        "matches(name, '(?i)CAT')", "not contains(name, 'dog')",
        "contains(image/file.name:a-b, '.png')", "contains(`with space`, \"1\")",
        "startswith(name, 'it') and endswith(name, 't')", "contains(name, '\\x27')",
        "name == r\"it's a cat\"", "contains(*, 'a cat')",
        "matches( * , '^x[.]png$') and label == 3"}) {
    EXPECT_TRUE(matches(expression)) << expression;
  }
  for (const char* expression :
       {"startswith(name, 't')", "startswith(name, 'it is a cat')", "endswith(name, 'ca')",
        "contains(name, 'Cat')", "matches(name, '^cat')", "matches(name, r'\\d')",
        "contains(label, '3')", "contains(missing, '')", "matches(empty, '')",
        "name == r'it\\x27s a cat'", "contains(*, 'dog')"}) {
    EXPECT_FALSE(matches(expression)) << expression;
  }
}

// Words are functions only before a parenthesis.
TEST(Where, FeaturesNamedAsFunctions) {
  const std::string example = ExampleBuilder()
                                  .set_int64("contains", 1)
                                  .set_bytes("matches", "x")
                                  .set_int64("record.size", -7)
                                  .set_int64("record.sizes", 8)
                                  .set_int64("r", 9)
                                  .serialize();
  MessageView message;
  message.read(as_bytes(example));
  EXPECT_TRUE(Where("contains == 1 and contains(matches, 'x')").matches(message));
  EXPECT_TRUE(Where("`record.size` == -7 and \"record.size\" < 0").matches(message));
  EXPECT_TRUE(Where("record.sizes == 8 and r == 9").matches(message));
  EXPECT_TRUE(Where("len(`record.size`) == 1 and has(`record.size`)").matches(message));
}

TEST(Where, FunctionsOfFeatureLists) {
  const std::string sequence =
      from_hex("1217 0a15 0a05 776f726473 120c 0a08 0a06 0a0161 0a0162 0a00");
  MessageView message;
  message.read(as_bytes(sequence));
  EXPECT_TRUE(Where("startswith(words, 'b') and matches(words, '^a$')").matches(message));
  EXPECT_FALSE(Where("startswith(words, 'c')").matches(message));
  EXPECT_TRUE(Where("contains(*, 'b')").matches(message));
  EXPECT_FALSE(Where("contains(*, 'c')").matches(message));
}

TEST(Where, FactsAboutTheRecord) {
  const std::string example = some_example();
  MessageView message;
  message.read(as_bytes(example));
  const NumberedRecord record = {
      {.data = as_bytes(example), .offset = 50, .path = "d/train-00003.tfrecords"}, 41};
  const auto holds = [&](const std::string& expression) {
    return Where(expression).matches(message, record);
  };
  const std::string size = std::to_string(example.size());
  EXPECT_TRUE(holds("record.size == " + size));
  EXPECT_FALSE(holds("record.size > " + size + " or record.size < " + size));
  EXPECT_TRUE(holds("record.number == 41 and record.number in [40, 41] and record.number < 41.5"));
  EXPECT_FALSE(holds("record.number not in [41]"));
  EXPECT_TRUE(holds("record.path == 'd/train-00003.tfrecords' and record.path != 'd'"));
  EXPECT_TRUE(holds("record.path in ['a', 'd/train-00003.tfrecords']"));
  EXPECT_TRUE(holds("startswith(record.path, 'd/') and endswith(record.path, '.tfrecords')"));
  EXPECT_TRUE(holds(R"(matches(record.path, r"-\d{5}\.") and contains(record.path, "train"))"));
  EXPECT_FALSE(holds("contains(record.path, 'test')"));
  // Records of other kinds have a size, too.
  message.read(as_bytes("foo"));
  EXPECT_TRUE(holds("record.size > 0"));
}

TEST(Where, PathsOfUrlsHaveNoSecrets) {
  MessageView message;
  const NumberedRecord record = {{.data = {}, .path = "https://user:word@host/a?token=x"}, 0};
  EXPECT_TRUE(Where("record.path == 'https://host/a?...'").matches(message, record));
  EXPECT_FALSE(Where("contains(record.path, 'token') or contains(record.path, 'word')")
                   .matches(message, record));
}

TEST(Where, AMessageAloneHasNoFacts) {
  MessageView message;
  EXPECT_THROW((void)Where("record.size > 0").matches(message), Error);
  EXPECT_TRUE(Where("not has(label) or record.size > 0").matches(message));
}

TEST(Where, RecordNumbersBeginAnewInEachFile) {
  const std::string a = "a.tfrecords";
  const std::string b = "b.tfrecords";
  const std::string same_name = a;
  RecordNumbers numbers;
  const auto number = [&](const std::string& path, uint64_t offset) {
    return numbers.numbered({.data = {}, .offset = offset, .path = path}).number;
  };
  EXPECT_EQ(number(a, 0), 0u);
  EXPECT_EQ(number(a, 20), 1u);
  EXPECT_EQ(number(b, 40), 0u);
  EXPECT_EQ(number(b, 60), 1u);
  EXPECT_EQ(number(b, 0), 0u);
  EXPECT_EQ(number(a, 0), 0u);
  EXPECT_EQ(number(same_name, 0), 0u);
}

// Returns the message that require_possible() throws after these records, "note: " and its note,
// or "possible".
std::string complaint_after(const std::string& expression, const std::vector<std::string>& records,
                            bool looked_at_all = true) {
  const Where where(expression, "--where");
  MessageView message;
  for (const std::string& record : records) {
    message.read(as_bytes(record));
    where.matches(message);
  }
  try {
    const std::string note = where.require_possible(looked_at_all);
    return note.empty() ? "possible" : "note: " + note;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Where, RecordsOfNoKnownKindAreCounted) {
  const std::string a = ExampleBuilder().set_int64("a", 3).serialize();
  const std::string undecided = a + from_hex("2a0178");  // field 5
  const std::string why = "an Example except for field 5 of an Example (byte " +
                          std::to_string(a.size()) + "); --kind ";
  EXPECT_EQ(complaint_after("a >= 0", {a, undecided}),
            "note: 1 record is of no known kind, and --where finds no features in it: " + why +
                "says what it is");
  EXPECT_EQ(complaint_after("not a >= 0", {"foo", a, undecided, undecided}),
            "note: 3 records are of no known kind, and --where finds no features in them, for "
            "example " +
                why + "says what they are");
  EXPECT_EQ(complaint_after("a == 7", {undecided, a, undecided}, false),
            "note: some records are of no known kind, and --where finds no features in them, for "
            "example " +
                why + "says what they are");
  EXPECT_EQ(complaint_after("has(zz)", {"foo", "foo"}),
            "note: 2 records are of no known kind, and --where finds no features in them");
  EXPECT_EQ(complaint_after("contains(*, 'x')", {"foo"}),
            "note: 1 record is of no known kind, and --where finds no features in it");
  // Conditions that need no features.
  const Where where("record.size > 2");
  MessageView message;
  message.read(as_bytes(undecided));
  EXPECT_TRUE(where.matches(message, {{.data = as_bytes(undecided)}, 0}));
  EXPECT_EQ(where.require_possible(true), "");
  // Of parts: the example is that of the first record, in any order.
  const auto seen = [&](const std::string& record, uint64_t number) {
    const Where part("a > 0");
    message.read(as_bytes(record));
    EXPECT_FALSE(part.matches(message, {{.data = as_bytes(record), .path = "p"}, number}));
    return part.seen();
  };
  const auto first = seen(a + from_hex("3200"), 2);
  const auto second = seen(undecided, 5);
  for (const bool is_swapped : {false, true}) {
    Where both("a > 0");
    both.add_seen(is_swapped ? second : first);
    both.add_seen(is_swapped ? first : second);
    EXPECT_EQ(both.seen().unknown.count, 2u);
    EXPECT_EQ(both.seen().unknown.why, "an Example except for field 6 of an Example (byte " +
                                           std::to_string(a.size()) + ")");
  }
}

TEST(Where, WhatNoRecordHasOrCouldNeverHoldIsAnError) {
  const std::string a = ExampleBuilder().set_int64("label", 3).set_bytes("name", "cat").serialize();
  const std::string b = ExampleBuilder().set_bytes("id", "x").set_float("rare", 1).serialize();
  const std::string missing =
      "--where names nme, which no record has; there are name, id, rare, label; did you mean name?";
  EXPECT_EQ(complaint_after("nme == 'x'", {a, b}), missing);
  EXPECT_EQ(complaint_after("nme == 'x'", {}), "possible");
  EXPECT_EQ(complaint_after("nme == 'x' or label == 3", {a, b}), missing);
  EXPECT_EQ(complaint_after("not nme == 'x' and label == 4", {a, b}), missing);
  EXPECT_EQ(complaint_after("nme not in ['x'] and label == 4", {a, b}), missing);
  EXPECT_EQ(complaint_after("label == 3 or nme == 'x' or aa == 1", {a, b}).substr(0, 18),
            "--where names aa, ");
  // Records that were not read may have the feature.
  for (const char* expression : {"nme == 'x'", "nme == 'x' or label == 3"}) {
    EXPECT_EQ(complaint_after(expression, {a, b}, false),
              "note: --where names nme, which no record that was read has; there are name, id, "
              "rare, label; did you mean name?");
  }
  // What exists doesn't depend on what is evaluated.
  for (const char* expression :
       {"has(rare) or rare == 1", "has(label) and label == 3 or id == 'y'",
        "label >= 0 or id == 'x'", "len(name) > 0 or name == 'x' or id == 'y'",
        "not has(id) and name == 'dog'"}) {
    EXPECT_EQ(complaint_after(expression, {a, b}), "possible") << expression;
  }
  for (const char* expression :
       {"label == 3 or has(id) or nme == 'x'", "not (nme == 'x')", "label == 7 and not nme == 'x'",
        "len(nme) > 0 or has(label) or has(id)", "nme not in ['x']", "not nme in ['x']"}) {
    EXPECT_EQ(complaint_after(expression, {a, b}), missing) << expression;
  }
  // Unless the expression says that the feature may be missing.
  EXPECT_EQ(complaint_after("has(nme) and nme == 'x'", {a, b}), "possible");
  EXPECT_EQ(complaint_after("nme == 'x'", {"foo"}),
            "--where names nme, which no record has; there are none (1 record is of no known kind, "
            "and --where finds no features in it)");
  EXPECT_EQ(complaint_after("rare == 2 and id == 5", {a, b}), "possible");
  EXPECT_EQ(complaint_after("rare == 1 and id == 5", {a, b}),
            "--where compares id with a number, but its values are bytes (a string stands in "
            "quotes)");
  EXPECT_EQ(complaint_after("label == '3'", {a, b}),
            "--where compares label with a string, but its values are int64 (a number stands "
            "without quotes)");
  EXPECT_EQ(complaint_after("has(nme)", {a, b}), "possible");
  EXPECT_EQ(complaint_after("contains(nme, 'x')", {a, b}), missing);
  EXPECT_EQ(complaint_after("contains(name, 'x')", {a, b}), "possible");
  EXPECT_EQ(complaint_after("matches(label, '3')", {a, b}),
            "--where uses matches() on label, but its values are int64 (numbers are compared by == "
            "< <= > >= and in)");
  // The steps of a feature list have kinds, too.
  const std::string sequence =
      from_hex("1217 0a15 0a05 776f726473 120c 0a08 0a06 0a0161 0a0162 0a00");
  EXPECT_EQ(complaint_after("words == 'c'", {sequence}), "possible");
  EXPECT_EQ(complaint_after("words == 1", {sequence}),
            "--where compares words with a number, but its values are bytes (a string stands in "
            "quotes)");
}

TEST(Where, OtherRecordsHaveNoFeatures) {
  MessageView message;
  message.read(as_bytes("foo"));
  EXPECT_FALSE(Where("label == 3").matches(message));
  EXPECT_TRUE(Where("not has(label)").matches(message));
}

std::string complaint_of(const std::string& expression) {
  try {
    const Where where(expression, "--where");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "none";
}

TEST(Where, MistakesNameTheColumn) {
  EXPECT_EQ(complaint_of(""),
            "--where, column 1: expected the name of a feature (in backticks if need be)");
  EXPECT_EQ(complaint_of("label"), "--where, column 6: expected == != < <= > >= or in");
  EXPECT_EQ(complaint_of("label = 3"), "--where, column 7: '=' is not an operator; use '=='");
  EXPECT_EQ(complaint_of("label == "),
            "--where, column 10: expected a number, or a string in quotes");
  EXPECT_EQ(complaint_of("label == cat"),
            "--where, column 10: expected a number, or a string in quotes");
  EXPECT_EQ(complaint_of("label == 'cat"), "--where, column 10: a quote that isn't closed");
  EXPECT_EQ(
      complaint_of("label == 'a\\q'"),
      "--where, column 12: expected \\\\ \\' \\\" \\n \\t or \\xNN (r'...' keeps backslashes)");
  EXPECT_EQ(complaint_of("label == 3 4"), "--where, column 12: expected and, or, or the end");
  EXPECT_EQ(complaint_of("label == 3 and"),
            "--where, column 15: expected the name of a feature (in backticks if need be)");
  EXPECT_EQ(complaint_of("(label == 3"), "--where, column 12: expected )");
  EXPECT_EQ(complaint_of("label in [1, 2"), "--where, column 15: expected ]");
  EXPECT_EQ(complaint_of("label in 1"), "--where, column 10: expected [");
  EXPECT_EQ(complaint_of("label not 1"), "--where, column 11: expected in after not");
  for (const char* large : {"18446744073709551616", "-9223372036854775809"}) {
    EXPECT_EQ(complaint_of(std::string("label == ") + large),
              "--where, column 10: a number that doesn't fit in 64 bits");
  }
  for (const char* number : {"1e400", "-1e400", "1e-400"}) {
    EXPECT_EQ(complaint_of(std::string("score > ") + number),
              "--where, column 9: a number that doesn't fit in a float of 64 bits");
  }
  EXPECT_EQ(complaint_of("len(label) == '1'"),
            "--where, column 15: len() is a number, never a string");
  EXPECT_EQ(complaint_of("label == 1x"), "--where, column 10: not a number");
  for (const char* nonfinite : {"nan", "NaN", "-inf", "Infinity"}) {
    EXPECT_EQ(complaint_of(std::string("label == ") + nonfinite),
              std::string("--where, column 10: ") + nonfinite +
                  " can't be compared with (x < 0 or x >= 0 selects all but NaN, x > 1e39 "
                  "infinities)");
  }
  EXPECT_EQ(complaint_of("label == 3 && x == 1"),
            "--where, column 12: expected and, or, or the end");
}

TEST(Where, MistakesInFunctionsNameTheColumn) {
  EXPECT_EQ(complaint_of("contains(name)"), "--where, column 14: expected ,");
  EXPECT_EQ(complaint_of("contains(name, cat)"), "--where, column 16: expected a string in quotes");
  EXPECT_EQ(complaint_of("contains(name, 3)"), "--where, column 16: expected a string in quotes");
  EXPECT_EQ(complaint_of("contains(name, 'a'"), "--where, column 19: expected )");
  EXPECT_EQ(complaint_of("contains('name', 'a')"),
            "--where, column 10: expected the name of a feature (in backticks if need be)");
  EXPECT_EQ(complaint_of("* == 3"),
            "--where, column 1: expected the name of a feature (in backticks if need be)");
  EXPECT_EQ(complaint_of("matches(name, 'a(b')"),
            "--where, column 15: the pattern: missing ): a(b");
  EXPECT_EQ(
      complaint_of("matches(name, '\\d')"),
      "--where, column 16: expected \\\\ \\' \\\" \\n \\t or \\xNN (r'...' keeps backslashes)");
  EXPECT_EQ(complaint_of("name == r'a"), "--where, column 10: a quote that isn't closed");
  EXPECT_EQ(complaint_of("contains(record.size, '1')"),
            "--where, column 10: record.size is a number, and contains() is for strings");
  EXPECT_EQ(complaint_of("record.number == '1'"),
            "--where, column 18: record.number is a number, never a string");
  EXPECT_EQ(complaint_of("record.path == 1"),
            "--where, column 16: record.path is a string: expected quotes");
  EXPECT_EQ(complaint_of("len(record.path) == 1"),
            "--where, column 5: record.path is no feature (a feature of that name stands in "
            "backticks)");
  EXPECT_EQ(complaint_of("has(record.size)"),
            "--where, column 5: record.size is no feature (a feature of that name stands in "
            "backticks)");
}

TEST(Where, HasANameInMessages) {
  try {
    const Where where("label = 3");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason().substr(0, 16), "where, column 7:");
  }
}

TEST(Where, DepthIsLimited) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '(') + "label == 3" + std::string(depth, ')');
  };
  EXPECT_TRUE(matches(nested(99)));
  EXPECT_EQ(complaint_of(nested(100000)),
            "--where, column 101: parentheses and nots nested more than 100 deep");
  std::string nots;
  for (int i = 0; i < 100000; ++i) nots += "not ";
  EXPECT_EQ(complaint_of(nots + "label == 3").substr(0, 24), "--where, column 400: par");
  // Only the depth is limited, not the number of terms.
  std::string wide = "label == 3";
  for (int i = 0; i < 100000; ++i) wide += " and label == 3";
  EXPECT_TRUE(matches(wide));
}

}  // namespace
}  // namespace recordpipe
