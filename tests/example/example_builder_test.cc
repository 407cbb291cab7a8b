#include "recordpipe/example/example_builder.h"

#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

std::string hex_of(const ExampleBuilder& builder) { return to_hex(builder.serialize()); }

TEST(ExampleBuilder, OneBytesFeature) {
  EXPECT_EQ(hex_of(ExampleBuilder().set_bytes("key", "value")),
            hex_of(ExampleBuilder().set_bytes("key", as_bytes("value"))));
  EXPECT_EQ(hex_of(ExampleBuilder().set_bytes("key", as_bytes("value"))),
            "0a120a100a036b657912090a070a0576616c7565");
}

TEST(ExampleBuilder, Int64sArePacked) {
  EXPECT_EQ(hex_of(ExampleBuilder().set_int64("age", 13)), "0a0e0a0c0a0361676512051a030a010d");
}

TEST(ExampleBuilder, KeysAreSortedAndTheLastOneOfANameStays) {
  ExampleBuilder one;
  one.set_int64("b", 1).set_int64("a", 2);
  ExampleBuilder other;
  other.set_float("a", 1.5f).set_int64("a", 2).set_int64("b", 1);
  EXPECT_EQ(one.serialize(), other.serialize());
  EXPECT_LT(one.serialize().find("\x0a\x01\x61"), one.serialize().find("\x0a\x01\x62"));
}

TEST(ExampleBuilder, EmptyListsKeepTheirKind) {
  EXPECT_EQ(hex_of(ExampleBuilder().set_int64s("k", {})), "0a090a070a016b12021a00");
  EXPECT_EQ(hex_of(ExampleBuilder().set_floats("k", {})), "0a090a070a016b12021200");
  EXPECT_EQ(hex_of(ExampleBuilder().set_bytes_list("k", {})), "0a090a070a016b12020a00");
}

TEST(ExampleBuilder, RefusesANameThatIsNotUtf8) {
  const ExampleBuilder builder = ExampleBuilder().set_int64("caf\xe9", 1);
  const Error error = error_of([&] { builder.serialize(); });
  EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(
      error.reason(),
      "the name \"caf\\xe9\" of a feature is not UTF-8 at byte 4: no protobuf would parse it");
}

TEST(ExampleBuilder, NothingSetIsNoBytes) {
  ExampleBuilder builder;
  EXPECT_EQ(builder.serialize(), "");
  builder.set_int64("a", 1);
  builder.clear();
  EXPECT_EQ(builder.serialize(), "");
}

TEST(ExampleBuilder, AppendsToWhatIsThere) {
  std::string out = "x";
  ExampleBuilder().set_int64("age", 13).append_to(out);
  EXPECT_EQ(to_hex(out), "780a0e0a0c0a0361676512051a030a010d");
}

}  // namespace
}  // namespace recordpipe
