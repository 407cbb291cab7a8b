// Tests where credentials of AWS come from: profiles, variables, services; and their order.
#include "dataset/object_store/aws/credentials.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/object_store/aws/profile.h"
#include "dataset/object_store/requests/fetch.h"
#include "recordpipe/base/error.h"
#include "tests/object_store/variables.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;
using testing::Not;

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

// The AWS tools assume the role, with the keys of its source_profile, although the profile has
// keys.
TEST_F(ProfileFiles, ARoleComesBeforeKeysAndAProcessAfterThem) {
  const std::string keys = "aws_access_key_id=AKID1\naws_secret_access_key=secret1\n";
  variables["AWS_SHARED_CREDENTIALS_FILE"] = folder / "none";
  const auto write = [&](const std::string& settings) {
    write_file(folder / "config", "[default]\n" + keys + settings);
  };
  const std::string role = "role_arn=arn:aws:iam::1:role/a\n";
  for (const std::string& settings :
       {role + "source_profile=default\n", role + "credential_source=Environment\n",
        std::string("sso_session=role_arn\n"), std::string("sso_start_url=https://a\n")}) {
    write(settings);
    const Error error = error_of([&] { found(); });
    EXPECT_EQ(error.kind(), ErrorKind::unsupported) << settings;
    EXPECT_THAT(error.what(), HasSubstr("from " + settings.substr(0, settings.find('='))));
    EXPECT_THAT(error.what(), Not(HasSubstr("secret1")));
  }
  for (const char* const settings : {"credential_process=/bin/false\n", "login_session=a\n"}) {
    write(settings);
    EXPECT_EQ(found().access_key, "AKID1") << settings;
  }
  write(role + "web_identity_token_file=" + (folder / "token") + "\n");
  EXPECT_EQ(error_of([&] { found(); }).path(), folder / "token");  // which doesn't exist
  // Variables come before all of the profile.
  variables["AWS_ACCESS_KEY_ID"] = "AKID3";
  variables["AWS_SECRET_ACCESS_KEY"] = "secret3";
  EXPECT_EQ(found().access_key, "AKID3");
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
