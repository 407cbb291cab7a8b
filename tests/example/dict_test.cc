// Tests Dict: order, paths, kinds, sizes.
#include "recordpipe/example/dict.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> names(const Dict& dict) {
  std::vector<std::string> all;
  for (const DictEntry& entry : dict.entries()) all.push_back(entry.name);
  return all;
}

TEST(Dict, KeepsTheOrderInWhichNamesAreSet) {
  Dict dict;
  EXPECT_TRUE(dict.empty());
  dict.set("b", make_scalar<int32_t>(1));
  dict.set("a", make_scalar<int32_t>(2));
  dict.set("b", make_scalar<int32_t>(3));
  EXPECT_EQ(names(dict), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(dict.at("b").array().values<int32_t>()[0], 3);
  dict.truncate(1);
  EXPECT_EQ(names(dict), (std::vector<std::string>{"b"}));
}

TEST(Dict, FindsPathsAlsoWhereNamesHaveSlashes) {
  Dict inner;
  inner.set("image", make_bytes("inner"));
  inner.set("image/id", make_bytes("id"));
  Dict dict;
  dict.set("observation", inner);
  dict.set("observation/image", make_bytes("outer"));
  dict.set("image/class/label", make_bytes("label"));
  EXPECT_EQ(dict.at("observation/image").bytes().text(), "outer");
  EXPECT_EQ(dict.at("observation/image/id").bytes().text(), "id");
  EXPECT_EQ(dict.at("image/class/label").bytes().text(), "label");
  EXPECT_EQ(dict.find("observation/none"), nullptr);
  EXPECT_EQ(dict.find("observation/"), nullptr);
  EXPECT_EQ(dict.find("image/class/label/x"), nullptr);
  const Error error = error_of([&] { dict.at("none"); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_THAT(error.hint(), HasSubstr("observation, observation/image, image/class/label"));
}

TEST(Dict, ValuesOfAnotherKindAreErrors) {
  Dict dict;
  dict.set("x", make_scalar(0.5f));
  const Error error = error_of([&] { dict.at("x").bytes(); });
  EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
  EXPECT_THAT(error.reason(), HasSubstr("an array"));
}

TEST(Dict, EqualValuesAreEqual) {
  const auto made = [](float last, bool optional) {
    const float values[] = {1, 2, last};
    Dict dict;
    dict.set("x", make_array<float>({3}, values)).is_optional = optional;
    dict.set("list", DictValue::List{make_bytes("a"), make_scalar<bool>(true)});
    return dict;
  };
  EXPECT_EQ(made(3, false), made(3, false));
  EXPECT_NE(made(3, false), made(4, false));
  EXPECT_NE(made(3, false), made(3, true));
}

TEST(Dict, ArraysAreAlignedAndCounted) {
  Dict dict;
  const std::vector<int64_t> values(1000, 7);
  dict.set("x", make_array<int64_t>({10, 100}, values));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(dict.at("x").array().bytes.data()) % 64, 0u);
  EXPECT_EQ(dict.at("x").array().size(), 1000u);
  EXPECT_GE(heap_bytes(dict), 8000u);
  EXPECT_LT(heap_bytes(dict), 9000u);
  Dict nested;
  nested.set("inner", dict);
  nested.set("texts", make_bytes(std::string(5000, 'x')));
  EXPECT_GE(heap_bytes(nested), 13000u);
}

}  // namespace
}  // namespace recordpipe
