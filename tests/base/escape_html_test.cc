// Tests that escaped text is shown as text in a page, whatever it contains.
#include "tools/support/html/escape_html.h"

#include <gtest/gtest.h>

namespace recordpipe {
namespace {

TEST(EscapeHtml, EscapesWhatHasAMeaning) {
  EXPECT_EQ(escape_html("<a href=\"x\">'&'</a>"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(escape_html("größer 日本\n\t"), "größer 日本\n\t");
}

TEST(EscapeHtml, ReplacesWhatIsNoText) {
  EXPECT_EQ(escape_html(std::string_view("a\0b", 3)),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(escape_html("\xff<\xc3"), "\xef\xbf\xbd&lt;\xef\xbf\xbd");
  EXPECT_EQ(escape_html("\x1b\x7f"), "\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace recordpipe
