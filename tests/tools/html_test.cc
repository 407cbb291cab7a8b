// Tests that text from a file stays text in an HTML page.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tools/tfrecord/view/elements.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Html, JsonCannotEndItsScript) {
  const nlohmann::json json = {{"</script><!--<script>", "]]>&amp;"}};
  const std::string text = script_json(json.dump());
  EXPECT_THAT(text, Not(HasSubstr("<")));
  EXPECT_THAT(text, Not(HasSubstr(">")));
  EXPECT_EQ(nlohmann::json::parse(text), json);
}

TEST(Html, DrawsDistributionsOfAllKinds) {
  Distribution numbers;
  numbers.add(5);
  EXPECT_THAT(histogram_svg(numbers, "<x>"), HasSubstr("Histogram of &lt;x&gt;: 5 to 5"));
  for (int i = 0; i < 1000; ++i) numbers.add(i);
  const std::string svg = histogram_svg(numbers, "n");
  EXPECT_THAT(svg, testing::ContainsRegex("<rect x=\"234\" y="));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  numbers.add(std::numeric_limits<double>::infinity());
  EXPECT_EQ(histogram_svg(numbers, "n"), "");
}

TEST(Html, DrawsBars) {
  EXPECT_THAT(bar_list({{"<b>", 10}, {"c", 1234}}),
              testing::AllOf(HasSubstr("&lt;b&gt;"), HasSubstr("1,234"), HasSubstr("0.81"),
                             HasSubstr("\"100.00\"")));
}

}  // namespace
}  // namespace recordpipe
