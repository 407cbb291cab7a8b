// Tests where requests go: names of objects, endpoints, regions.
#include "dataset/object_store/aws/endpoint.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/object_store/aws/profile.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "tests/object_store/variables.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;
using testing::Not;

S3Settings settings_of(const Variables& variables, ProfileSettings profile = {}) {
  return read_s3_settings({.name = "default", .settings = std::move(profile)},
                          environment_of(variables));
}

std::string s3_url(const std::string& object, const Variables& variables = {},
                   ProfileSettings profile = {}) {
  const S3Settings settings = settings_of(variables, std::move(profile));
  return s3_address(parse_object_url(object), settings, settings.region).url("");
}

TEST(ObjectUrl, KeyIsTakenLiterally) {
  for (const std::string key :
       {"a", "a/b", "a//b", "../a", "a/../b", "a?b#c", "a+b c", "%41", "\xc3\xbc", "a:b@c", "/a"}) {
    const ObjectUrl url = parse_object_url("s3://bucket/" + key);
    EXPECT_EQ(url.bucket, "bucket");
    EXPECT_EQ(url.key, key);
    EXPECT_EQ(url.text(), "s3://bucket/" + key);
  }
  EXPECT_EQ(parse_object_url("gs://bucket/a").scheme, ObjectScheme::gs);
  EXPECT_TRUE(parse_object_url("s3://bucket").is_folder());
  EXPECT_TRUE(parse_object_url("s3://bucket/a/").is_folder());
  EXPECT_FALSE(parse_object_url("s3://bucket/a").is_folder());
}

TEST(ObjectUrl, RefusesBucketsThatWouldChangeTheHost) {
  for (const std::string bucket : {"", "a", "a.evil.com:80", "a@b", "..", "a b", "a?b", "a#b",
                                   "-ab", "ab-", "a\nb", "a%2fb", "user:secret@bucket"}) {
    const Error error = error_of([&] { parse_object_url("s3://" + bucket + "/key"); });
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument) << bucket;
  }
  EXPECT_THROW(parse_object_url("s3://" + std::string(256, 'a') + "/key"), Error);
  EXPECT_NO_THROW(parse_object_url("s3://bucket/" + std::string(1024, 'k')));
  EXPECT_THROW(parse_object_url("s3://bucket/" + std::string(1025, 'k')), Error);
}

TEST(ObjectUrl, IsNoUrlOfHttp) {
  EXPECT_TRUE(is_object_url("s3://a/b"));
  EXPECT_TRUE(is_object_url("gs://a/b"));
  EXPECT_FALSE(is_object_url("s3:/a/b"));
  EXPECT_FALSE(is_http_url("s3://a/b"));
  EXPECT_TRUE(is_url("s3://a/b"));
  EXPECT_TRUE(is_url("https://a/b"));
  EXPECT_EQ(without_query("s3://a/b?c"), "s3://a/b?c");
  EXPECT_EQ(without_secrets("s3://a/b?c#d"), "s3://a/b?c#d");
}

TEST(Endpoint, OfAws) {
  EXPECT_EQ(s3_url("s3://bucket/a/b c"), "https://bucket.s3.us-east-1.amazonaws.com/a/b%20c");
  EXPECT_EQ(s3_url("s3://bucket"), "https://bucket.s3.us-east-1.amazonaws.com/");
  EXPECT_EQ(s3_url("s3://bucket/../a//?#"),
            "https://bucket.s3.us-east-1.amazonaws.com/../a//%3F%23");
  EXPECT_EQ(s3_url("s3://my.bucket/a"), "https://s3.us-east-1.amazonaws.com/my.bucket/a");
  EXPECT_EQ(s3_url("s3://My_Bucket/a"), "https://s3.us-east-1.amazonaws.com/My_Bucket/a");
  EXPECT_EQ(s3_url("s3://bucket/a", {}, {{"s3.addressing_style", "path"}}),
            "https://s3.us-east-1.amazonaws.com/bucket/a");
  EXPECT_EQ(s3_url("s3://bucket/a", {{"AWS_REGION", "cn-north-1"}}),
            "https://bucket.s3.cn-north-1.amazonaws.com.cn/a");
}

TEST(Endpoint, RegionsInOrder) {
  Variables variables{{"AWS_DEFAULT_REGION", "eu-west-1"}};
  const ProfileSettings profile{{"region", "eu-west-2"}};
  EXPECT_EQ(settings_of({}).region, "us-east-1");
  EXPECT_EQ(settings_of({}, profile).region, "eu-west-2");
  EXPECT_EQ(settings_of(variables, profile).region, "eu-west-1");
  variables["AWS_REGION"] = "eu-north-1";
  EXPECT_EQ(settings_of(variables, profile).region, "eu-north-1");
  variables["AWS_REGION"] = "evil.com/";
  EXPECT_EQ(error_of([&] { settings_of(variables); }).kind(), ErrorKind::invalid_argument);
}

TEST(Endpoint, OfOthers) {
  const Variables minio{{"AWS_ENDPOINT_URL", "http://localhost:9000/"}};
  EXPECT_EQ(s3_url("s3://bucket/a", minio), "http://localhost:9000/bucket/a");
  EXPECT_EQ(s3_url("s3://bucket", minio), "http://localhost:9000/bucket");
  Variables both = minio;
  both["AWS_ENDPOINT_URL_S3"] = "https://r2.example.com:443/prefix";
  EXPECT_EQ(s3_url("s3://bucket/a", both), "https://r2.example.com/prefix/bucket/a");
  EXPECT_EQ(s3_url("s3://bucket/a", {}, {{"endpoint_url", "http://h:80"}}), "http://h/bucket/a");
  EXPECT_EQ(s3_url("s3://bucket/a", both, {{"s3.addressing_style", "virtual"}}),
            "https://bucket.r2.example.com/prefix/a");
  both["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true";
  EXPECT_EQ(s3_url("s3://bucket/a", both), "https://bucket.s3.us-east-1.amazonaws.com/a");
}

TEST(Endpoint, RefusesWhatIsNoOrigin) {
  for (const std::string value : {"localhost:9000", "ftp://host", "http://", "http://u:secret@h",
                                  "http://h?secret", "http://h/#secret", "http://h\r\nsecret"}) {
    const Error error = error_of([&] { settings_of({{"AWS_ENDPOINT_URL", value}}); });
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument) << value;
    EXPECT_THAT(error.what(), HasSubstr("AWS_ENDPOINT_URL"));
    EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
  }
}

TEST(Endpoint, OfGoogle) {
  const ObjectUrl object = parse_object_url("gs://bucket/a/b+c");
  EXPECT_EQ(gcs_address(object, environment_of({})).url(""),
            "https://storage.googleapis.com/bucket/a/b%2Bc");
  EXPECT_EQ(
      gcs_address(object, environment_of({{"STORAGE_EMULATOR_HOST", "localhost:4443"}})).url("a=b"),
      "http://localhost:4443/bucket/a/b%2Bc?a=b");
  EXPECT_EQ(
      gcs_address(object, environment_of({{"STORAGE_EMULATOR_HOST", "https://h:1/"}})).url(""),
      "https://h:1/bucket/a/b%2Bc");
}

TEST(Endpoint, OfGoogleElsewhere) {
  EXPECT_EQ(gcs_address(parse_object_url("gs://bucket/a"),
                        environment_of({{"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE",
                                         "https://private.example.com/"}}))
                .url(""),
            "https://private.example.com/bucket/a");
}

TEST(Endpoint, OfSts) {
  EXPECT_EQ(sts_url(environment_of({}), "eu-west-1"), "https://sts.eu-west-1.amazonaws.com/");
  EXPECT_EQ(sts_url(environment_of({{"AWS_ENDPOINT_URL_STS", "http://h:1"}}), "eu-west-1"),
            "http://h:1/");
}

}  // namespace
}  // namespace recordpipe
