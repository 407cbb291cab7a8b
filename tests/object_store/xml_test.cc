// Tests the XML of listings and errors, also hostile XML.
#include "dataset/object_store/requests/xml.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/object_store/listing.h"
#include "dataset/object_store/requests/service_error.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// "path=text" for each end.
std::vector<std::string> ends_of(const std::string& document) {
  std::vector<std::string> ends;
  XmlReader xml(document);
  while (xml.next()) {
    if (xml.event() == XmlReader::Event::end) ends.push_back(xml.path() + "=" + xml.text());
  }
  return ends;
}

TEST(Xml, ElementsAndText) {
  EXPECT_THAT(
      ends_of("\xef\xbb\xbf<?xml version=\"1.0\"?>\n<a x='>' y=\"/>\"><!-- <z> --><b>1</b>\n"
              "<n:c/><b>2 &amp; &lt;&#65;&#x20ac;&gt;<![CDATA[<&x;>]]></b></a>\n"),
      ElementsAre("/a/b=1", "/a/c=", "/a/b=2 & <A\u20ac><&x;>", "/a="));
}

TEST(Xml, RefusesWhatIsHostile) {
  for (const std::string document :
       {"",
        " ",
        "text",
        "<a>",
        "<a",
        "<a></b>",
        "</a>",
        "<a/><b/>",
        "<a/>text",
        "<a><b></a></b>",
        "<>",
        "<a>&x;</a>",
        "<a>&",
        "<a>&amp</a>",
        "<a>&#0;</a>",
        "<a>&#xd800;</a>",
        "<a>&#x110000;</a>",
        "<a>&#x;</a>",
        "<a>&#99999999999;</a>",
        "<a b='></a>",
        "<!--",
        "<?xml",
        "<a><![CDATA[</a>",
        "<!DOCTYPE a><a/>",
        "<!DOCTYPE a [<!ENTITY x 'xx'><!ENTITY y '&x;&x;'>]><a>&y;</a>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>"}) {
    EXPECT_EQ(error_of([&] { ends_of(document); }).kind(), ErrorKind::corrupted) << document;
  }
  const auto nested = [](size_t levels) {
    std::string document;
    for (size_t i = 0; i < levels; ++i) document += "<a>";
    for (size_t i = 0; i < levels; ++i) document += "</a>";
    return document;
  };
  EXPECT_EQ(ends_of(nested(32)).size(), 32u);
  EXPECT_THROW(ends_of(nested(33)), Error);
  EXPECT_THROW(ends_of("<" + std::string(1000, 'a') + "/>"), Error);
}

TEST(Xml, SurvivesDamage) {
  const std::string whole =
      "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><Contents><Key>a&amp;b</Key><Size>1"
      "</Size><ETag>&quot;e&quot;</ETag></Contents><!-- c --><IsTruncated>false</IsTruncated>"
      "<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes></ListBucketResult>";
  Random random(1, 0, 0);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      const size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0:
          damaged[at] = "<>&;/!?\"'[]a\0\xff"[random() % 14];
          break;
        case 1:
          damaged.erase(at, random() % 20);
          break;
        default:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 20));
      }
      if (damaged.empty()) damaged = " ";
    }
    try {
      (void)parse_listing(damaged);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupted);
    }
    (void)parse_service_error(damaged);
  }
}

TEST(Listing, IsParsed) {
  const ListingPage page = parse_listing(
      "<ListBucketResult><Name>b</Name><Prefix>x</Prefix><EncodingType>url</EncodingType>"
      "<Contents><Key>a%2Bb+c</Key><ETag>&quot;e&quot;</ETag><Size>18446744073709551615</Size>"
      "<Owner><ID>1</ID></Owner></Contents><Contents><Key>d</Key><Size>0</Size></Contents>"
      "<CommonPrefixes><Prefix>f%3F/</Prefix></CommonPrefixes>"
      "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
      "</ListBucketResult>");
  ASSERT_EQ(page.listing.objects.size(), 2u);
  EXPECT_EQ(page.listing.objects[0].key, "a+b c");
  EXPECT_EQ(page.listing.objects[0].etag, "\"e\"");
  EXPECT_EQ(page.listing.objects[0].size, UINT64_MAX);
  EXPECT_EQ(page.listing.objects[1].etag, "");
  EXPECT_THAT(page.listing.folders, ElementsAre("f?/"));
  EXPECT_EQ(page.next, "t");
}

TEST(Listing, WithoutEncodingKeysAreLiteral) {
  const ListingPage page =
      parse_listing("<ListBucketResult><Contents><Key>a%41+b</Key></Contents></ListBucketResult>");
  EXPECT_EQ(page.listing.objects.at(0).key, "a%41+b");
  EXPECT_EQ(page.next, "");
}

TEST(Listing, RefusesOtherDocuments) {
  for (const std::string inner :
       {"<Contents><Size>-1</Size></Contents>", "<Contents><Size>1x</Size></Contents>",
        "<Contents><Size>18446744073709551616</Size></Contents>",
        "<IsTruncated>true</IsTruncated>"}) {
    EXPECT_THROW(parse_listing("<ListBucketResult>" + inner + "</ListBucketResult>"), Error);
  }
  EXPECT_THROW(parse_listing("<html></html>"), Error);
}

TEST(ServiceErrors, AreParsed) {
  const ServiceError error = parse_service_error(
      "<?xml version='1.0'?><Error><Code>InvalidRange</Code><Message>m</Message>"
      "<Region>eu-west-1</Region><ActualObjectSize>7</ActualObjectSize></Error>");
  EXPECT_EQ(describe(416, error), "416, InvalidRange: m");
  EXPECT_EQ(error.region, "eu-west-1");
  EXPECT_EQ(error.object_size, 7u);
  EXPECT_EQ(
      parse_service_error("<ErrorResponse><Error><Code>c</Code></Error></ErrorResponse>").code,
      "c");
  EXPECT_EQ(describe(500, parse_service_error("<html>")), "500");
  EXPECT_EQ(parse_service_error("<Error><Region>evil.com/</Region></Error>").region, "");
}

TEST(ServiceErrors, HideWhatWasSent) {
  ServiceError error{.code = "secret", .message = "no secret, token or " + std::string(400, 'x')};
  error.conceal({"secret", "token", ""});
  EXPECT_EQ(error.code, "...");
  EXPECT_EQ(error.message.substr(0, 14), "no ..., ... or");
  EXPECT_LE(error.message.size(), 303u);
}

TEST(ServiceErrors, KeepTheirWordsIfASecretIsALetter) {
  ServiceError error{.code = "NoSuchKey", .message = "The key e, or 2e1, doesn't exist: e"};
  error.conceal({"e", "y"});
  EXPECT_EQ(error.code, "NoSuchKey");
  EXPECT_EQ(error.message, "The key ..., or 2e1, doesn't exist: ...");
  error.message = "seen in _longersecret_ and in alongersecretb";
  error.conceal({"longersecret"});
  EXPECT_EQ(error.message, "seen in _..._ and in a...b");
}

TEST(ServiceErrors, BusyAndExpired) {
  EXPECT_TRUE(is_transient(503, "SlowDown"));
  EXPECT_TRUE(is_transient(400, "RequestTimeout"));
  EXPECT_FALSE(is_transient(403, "AccessDenied"));
  EXPECT_TRUE(is_expired("ExpiredToken"));
  EXPECT_FALSE(is_expired(""));
}

}  // namespace
}  // namespace recordpipe
