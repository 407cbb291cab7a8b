// Tests where requests go: names of objects, endpoints, regions, profiles.
#include "dataset/object_store/endpoint.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/object_store/aws_credentials.h"
#include "dataset/object_store/fetch.h"
#include "dataset/object_store/profile.h"
#include "recordpipe/error.h"
#include "recordpipe/internal/url_path.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;
using testing::Not;
using Variables = std::map<std::string, std::string>;

Environment environment_of(Variables variables) {
  return [variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

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

TEST(Profile, IsParsedAsTheAwsToolsDo) {
  const auto sections = parse_profiles(
      "ignored = 1\n"
      "# comment\n"
      "[default]\r\n"
      "region = eu-west-1\r\n"
      "s3 =\n"
      "  addressing_style = path\n"
      "\tendpoint_url=http://h\n"
      "aws_secret_access_key = a=b/c+d==\n"
      "no value\n"
      "; [comment]\n"
      "[profile   two words ]\n"
      "  region = x\n"
      "[unclosed\n"
      "region=y");
  EXPECT_EQ(sections.at("default"), (ProfileSettings{{"region", "eu-west-1"},
                                                     {"s3", ""},
                                                     {"s3.addressing_style", "path"},
                                                     {"s3.endpoint_url", "http://h"},
                                                     {"aws_secret_access_key", "a=b/c+d=="}}));
  EXPECT_EQ(sections.at("profile two words").at("region"), "x");
  EXPECT_EQ(sections.at("unclosed").at("region"), "y");
  EXPECT_TRUE(parse_profiles("").empty());
  EXPECT_EQ(parse_profiles("[").size(), 1u);
}

class ProfileFiles : public testing::Test {
 protected:
  ProfileFiles() {
    write_file(folder / "credentials",
               "[default]\naws_access_key_id=AKID1\naws_secret_access_key=secret1\n"
               "[other]\naws_access_key_id=AKID2\naws_secret_access_key=secret2\n"
               "aws_session_token=token2\n");
    write_file(folder / "config",
               "[default]\nregion=eu-west-1\naws_access_key_id=shadowed\n"
               "[profile other]\nregion=eu-west-2\n"
               "[profile process]\ncredential_process=/bin/secret-tool\n"
               "[profile sso]\nsso_session=a\n"
               "[profile role]\nrole_arn=arn:aws:iam::1:role/a\nsource_profile=default\n");
    variables["AWS_SHARED_CREDENTIALS_FILE"] = folder / "credentials";
    variables["AWS_CONFIG_FILE"] = folder / "config";
    variables["AWS_EC2_METADATA_DISABLED"] = "true";
  }

  AwsCredentials found() const {
    return find_aws_credentials({.local = posix_file_system(),
                                 .environment = environment_of(variables),
                                 .http = {},
                                 .region = "us-east-1"});
  }

  TemporaryDirectory folder;
  Variables variables;
};

TEST_F(ProfileFiles, AreReadInOrder) {
  EXPECT_EQ(found().access_key, "AKID1");
  EXPECT_EQ(read_aws_profile(posix_file_system(), environment_of(variables)).get("region"),
            "eu-west-1");
  variables["AWS_PROFILE"] = "other";
  EXPECT_EQ(found(), (AwsCredentials{"AKID2", "secret2", "token2", {}}));
  EXPECT_EQ(read_aws_profile(posix_file_system(), environment_of(variables)).get("region"),
            "eu-west-2");
  variables["AWS_ACCESS_KEY_ID"] = "AKID3";
  variables["AWS_SECRET_ACCESS_KEY"] = "secret3";
  EXPECT_EQ(found(), (AwsCredentials{"AKID3", "secret3", "", {}}));
  variables["AWS_NO_SIGN_REQUEST"] = "YES";
  EXPECT_TRUE(found().anonymous());
}

TEST_F(ProfileFiles, AreInTheHomeDirectory) {
  std::filesystem::create_directory(folder / ".aws");
  write_file(folder / ".aws/credentials",
             "[default]\naws_access_key_id=HOME\naws_secret_access_key=s\n");
  variables = {{"HOME", folder.path()}, {"AWS_EC2_METADATA_DISABLED", "1"}};
  EXPECT_EQ(found().access_key, "HOME");
  variables["HOME"] = folder / "none";
  EXPECT_TRUE(found().anonymous());
}

TEST_F(ProfileFiles, NameWhatIsMissing) {
  variables["AWS_PROFILE"] = "none";
  const Error missing = error_of([&] { found(); });
  EXPECT_EQ(missing.kind(), ErrorKind::not_found);
  EXPECT_THAT(missing.what(), HasSubstr("no profile none"));
  for (const std::string name : {"process", "sso", "role"}) {
    variables["AWS_PROFILE"] = name;
    const Error error = error_of([&] { found(); });
    EXPECT_EQ(error.kind(), ErrorKind::unsupported) << name;
    EXPECT_THAT(error.what(), HasSubstr("export-credentials --profile " + name));
    EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
  }
}

TEST_F(ProfileFiles, HalfAKeyIsAnError) {
  variables["AWS_ACCESS_KEY_ID"] = "AKID3";
  const Error error = error_of([&] { found(); });
  EXPECT_THAT(error.what(), HasSubstr("without AWS_SECRET_ACCESS_KEY"));
  EXPECT_THAT(error.what(), Not(HasSubstr("AKID3")));
}

// A line break in a credential would add a header.
TEST_F(ProfileFiles, HostileKeysAreRefused) {
  for (const std::string value : {"secret\r\nX: y", "secret ", "s\xc3\xbc"}) {
    variables["AWS_ACCESS_KEY_ID"] = "AKID3";
    variables["AWS_SECRET_ACCESS_KEY"] = value;
    const Error error = error_of([&] { found(); });
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("AWS_SECRET_ACCESS_KEY"));
    EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
  }
}

TEST_F(ProfileFiles, HaveALimit) {
  write_file(folder / "config", std::string((1 << 20) + 1, '#'));
  EXPECT_EQ(error_of([&] { found(); }).kind(), ErrorKind::limit_exceeded);
}

TEST(ContainerCredentials, OnlySomeHostsAreAsked) {
  for (const char* uri : {"https://example.org/a", "http://localhost:1/a", "http://127.0.0.1/a",
                          "http://127.1.2.3:80/", "http://[::1]:80/a", "http://169.254.170.2/a",
                          "http://169.254.170.23/v1/credentials", "http://[fd00:ec2::23]/v1"}) {
    EXPECT_TRUE(is_allowed_container_uri(uri)) << uri;
  }
  for (const char* uri :
       {"http://example.org/a", "http://127.0.0.1.example.org/", "http://127.0.0.1@example.org/",
        "http://localhost@example.org/", "http://example.org#127.0.0.1", "http://10.0.0.1/",
        "http://169.254.170.20/", "http://example.org\\@127.0.0.1/", "ftp://127.0.0.1/",
        "file:///a", "http://127.evil.com.x/", ""}) {
    EXPECT_FALSE(is_allowed_container_uri(uri)) << uri;
  }
}

TEST(ServiceCredentials, AreParsed) {
  const AwsCredentials found = parse_service_credentials(
      R"({"Code":"Success","AccessKeyId":"A","SecretAccessKey":"S","Token":"T",
          "Expiration":"2026-01-31T12:00:00Z"})",
      "the service");
  EXPECT_EQ(found.access_key, "A");
  EXPECT_EQ(found.session_token, "T");
  EXPECT_EQ(found.expires, std::chrono::system_clock::from_time_t(1769860800));
  for (const std::string json : {"", "[]", "{}", "{\"AccessKeyId\":1}", "null",
                                 R"({"AccessKeyId":"secret","SecretAccessKey":""})"}) {
    const Error error = error_of([&] { parse_service_credentials(json, "the service"); });
    EXPECT_EQ(error.kind(), ErrorKind::permission_denied) << json;
    EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
  }
  EXPECT_EQ(error_of([&] {
              parse_service_credentials(R"({"AccessKeyId":"A\r\nX: y","SecretAccessKey":"S"})",
                                        "the service");
            }).kind(),
            ErrorKind::invalid_argument);
}

TEST(UtcTime, IsParsed) {
  const auto expected = std::chrono::system_clock::from_time_t(1769860800);
  EXPECT_EQ(parse_utc_time("2026-01-31T12:00:00Z"), expected);
  EXPECT_EQ(parse_utc_time("2026-01-31T12:00:00.123Z"), expected);
  EXPECT_EQ(parse_utc_time("2026-01-31T12:00:00+00:00"), expected);
  for (const char* text : {"", "2026-01-31", "2026-13-31T12:00:00Z", "2026-01-31T12:00:00",
                           "2026-01-31T12:00:00+02:00", "x"}) {
    EXPECT_EQ(parse_utc_time(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace recordpipe
