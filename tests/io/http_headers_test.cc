#include <gtest/gtest.h>

#include "dataset/http/headers.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

TEST(ContentRange, NamesTheBytesAndTheTotal) {
  const auto range = parse_content_range("bytes 5-9/10");
  ASSERT_TRUE(range && range->bytes);
  EXPECT_EQ(range->bytes->first, 5u);
  EXPECT_EQ(range->bytes->last, 9u);
  EXPECT_EQ(range->total, 10u);
  EXPECT_EQ(parse_content_range("Bytes 0-0/*")->total, std::nullopt);
}

TEST(ContentRange, OfA416NamesTheTotalOnly) {
  const auto range = parse_content_range("bytes */10");
  ASSERT_TRUE(range);
  EXPECT_FALSE(range->bytes);
  EXPECT_EQ(range->total, 10u);
}

TEST(ContentRange, RefusesWhatContradictsItself) {
  for (const char* text :
       {"", "bytes", "bytes ", "items 0-1/2", "bytes 5-4/10", "bytes 5-10/10", "bytes 5-9",
        "bytes 5-9/", "bytes -9/10", "bytes 5-/10", "bytes +5-9/10", "bytes 5-9/10 ",
        "bytes 5-9/10,bytes 1-2/10", "bytes 18446744073709551616-18446744073709551617/*",
        "bytes 5-9/18446744073709551616"}) {
    EXPECT_FALSE(parse_content_range(text)) << text;
  }
}

constexpr char kDate[] = "Tue, 02 Jan 2024 00:01:00 GMT";

TEST(Validator, IsTheStrongETag) {
  EXPECT_EQ(validator_of("\"a1\"", "Mon, 01 Jan 2024 00:00:00 GMT", kDate), "\"a1\"");
}

TEST(Validator, IsLastModifiedOnceItIsAMinuteOld) {
  for (const char* etag : {"", "W/\"a1\""}) {
    EXPECT_EQ(validator_of(etag, "Tue, 02 Jan 2024 00:00:00 GMT", kDate),
              "Tue, 02 Jan 2024 00:00:00 GMT");
    EXPECT_EQ(validator_of(etag, "Tue, 02 Jan 2024 00:00:01 GMT", kDate), "");
    EXPECT_EQ(validator_of(etag, "Tue, 02 Jan 2024 00:00:00 GMT", ""), "");
    EXPECT_EQ(validator_of(etag, "yesterday", kDate), "");
    EXPECT_EQ(validator_of(etag, "Mon, 01 Jan 2024 00:00:00 GMT \xe9", kDate), "");
    EXPECT_EQ(validator_of(etag, "Mon, 01 Jan 2024 00:00:00 GMT\r\nX-Evil: 1", kDate), "");
    EXPECT_EQ(validator_of(etag, "", kDate), "");
  }
}

TEST(StrongETag, IsQuotedAndPrintable) {
  EXPECT_TRUE(is_strong_etag("\"\""));
  EXPECT_TRUE(is_strong_etag("\"5e0-a/b\""));
  for (const std::string& text :
       {std::string(), std::string("\""), std::string("a"), std::string("W/\"a\""),
        std::string("\"a\"b\""), std::string("\"a b\""), std::string("\"a\r\nX: b\""),
        '"' + std::string(5000, 'a') + '"'}) {
    EXPECT_FALSE(is_strong_etag(text)) << text;
  }
}

TEST(LooksLikeHtml, KnowsPagesByTheirStart) {
  for (const char* page : {"<!DOCTYPE html><html>", "\n\n  <html lang=en>", "\xef\xbb\xbf<HTML>",
                           "<!-- page -->", "<head><title>"}) {
    EXPECT_EQ(looks_like_html(as_bytes(page)), true) << page;
  }
  for (const char* other : {"\x1f\x8b", "PK", "\xef\xbb\xbftext", "<?xml version='1.0'?>", "  x"}) {
    EXPECT_EQ(looks_like_html(as_bytes(other)), false) << other;
  }
}

TEST(LooksLikeHtml, WaitsAsLongAsItCannotTell) {
  const std::string page = "\xef\xbb\xbf \n<!doctype html";
  for (size_t size = 0; size < page.size(); ++size) {
    EXPECT_EQ(looks_like_html(as_bytes(page.substr(0, size))), std::nullopt) << size;
  }
  EXPECT_EQ(looks_like_html(as_bytes(page)), true);
  EXPECT_EQ(looks_like_html(as_bytes(std::string(512, ' '))), false);
}

TEST(HtmlType, LeavesParametersAside) {
  EXPECT_TRUE(is_html_type("text/html"));
  EXPECT_TRUE(is_html_type("Text/HTML ; charset=utf-8"));
  EXPECT_TRUE(is_html_type("application/xhtml+xml"));
  EXPECT_FALSE(is_html_type("application/gzip"));
  EXPECT_FALSE(is_html_type(""));
}

}  // namespace
}  // namespace recordpipe
