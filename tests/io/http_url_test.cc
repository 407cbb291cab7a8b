#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/http/url.h"
#include "recordpipe/io/file.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(HttpUrl, ShowsNoSecrets) {
  const HttpUrl url("https://user:secret@example.org:8443/a/b.tar.gz?token=secret#secret");
  EXPECT_EQ(url.shown(), "https://example.org:8443/a/b.tar.gz?...");
  EXPECT_THAT(url.text(), HasSubstr("user:secret@"));
}

// Even if the path was never parsed as an HttpUrl, as in a file system without URLs.
TEST(HttpUrl, ErrorsShowNoQuery) {
  for (const auto& [path, shown] :
       {std::pair("https://example.org/a?X-Amz-Signature=secret", "https://example.org/a?..."),
        {"HTTPS://example.org?secret", "HTTPS://example.org?..."},
        {"https://user:secret@example.org/a@b", "https://example.org/a@b"},
        {"https://example.org/a#secret", "https://example.org/a"},
        {"https://example.org/a#b?secret", "https://example.org/a"},
        {"https://user:se?cret@example.org/a", "https://?..."},
        {"https://example.org/a.npz?...:x.npy", "https://example.org/a.npz?...:x.npy"},
        {"https://example.org/a?...secret", "https://example.org/a?..."},
        {"https://example.org/a", "https://example.org/a"},
        {"https://user:sec@ret@example.org/a", "https://example.org/a"},
        {"ftp://user:secret@example.org/a?sig=secret", "ftp://example.org/a?..."},
        {"ftp://user:se?cret@example.org/a", "ftp://?..."},
        {"abfs://container@account/a-?#b", "abfs://container@account/a-?#b"},
        {"a:b@c://d?e", "a:b@c://d?e"},
        {"what?.tfrecords", "what?.tfrecords"}}) {
    const Error error({.path = path, .reason = "open failed"});
    EXPECT_EQ(error.path(), shown);
    EXPECT_EQ(error.what(), shown + std::string(": open failed"));
    EXPECT_EQ(without_secrets(error.path()), shown);
  }
  EXPECT_THAT(message_of([] { posix_file_system().open_source("https://example.org/a?secret"); }),
              testing::StartsWith("https://example.org/a?...: open failed"));
}

TEST(HttpUrl, RefusesOtherProtocols) {
  for (const char* text : {"file:///etc/passwd", "ftp://example.org/a", "gopher://example.org/"}) {
    EXPECT_THAT(message_of([&] { HttpUrl url(text); }), HasSubstr("not an http or https URL"));
  }
}

TEST(HttpUrl, RefusesWhatIsNoUrl) {
  for (const char* text :
       {"", "a.tar.gz", "/tmp/a.tar.gz", "example.org/a", "https://", "http://a b/",
        "https://example.org:99999/", "http://example.org/\r\nX: y"}) {
    EXPECT_THAT(message_of([&] { HttpUrl url(text); }), HasSubstr("not a")) << text;
  }
  EXPECT_THROW(HttpUrl(std::string_view("http://example.org/\0b", 21)), Error);
}

TEST(HttpUrl, KeepsSecretsOutOfItsErrors) {
  for (const char* text :
       {"htp://user:secret@example.org/", "user:secret@example.org",
        "https://user:sec/ret@example.org:x/", "https://example.org:x/?secret"}) {
    const std::string message = message_of([&] { HttpUrl url(text); });
    EXPECT_THAT(message, HasSubstr("not a"));
    EXPECT_THAT(message, Not(HasSubstr("ret")));
  }
}

// A URL parser takes '?' or '#' in a password as the end of the host. A part of a password is a
// secret, too.
TEST(HttpUrl, KeepsPartsOfPasswordsOutOfItsErrors) {
  for (const auto& [text, shown] :
       {std::pair("https://user:pa?ss@example.org/x", "https:…: not a URL"),
        {"https://user:pa#ss@example.org/x", "https:…: not a URL"},
        {"https://user:pass", "https:…: not a URL"},
        {"https://example.org:x/?to=pass@example.org", "https:…: not a URL"},
        {"ftp://user:pa?ss@example.org/x", "ftp:…: not a URL"},
        {"user:pa@ss@example.org?pass", "example.org: not a"},
        {"a.tar.gz", "a.tar.gz: not a"}}) {
    const std::string message = message_of([&] { HttpUrl url(text); });
    EXPECT_THAT(message, testing::StartsWith(shown));
    EXPECT_THAT(message, Not(HasSubstr("pa"))) << text;
  }
}

TEST(HttpUrl, FollowsRelativeAndAbsoluteRedirects) {
  const HttpUrl url("https://user:pw@example.org/a/b?c");
  EXPECT_EQ(url.redirected("d").text(), "https://user:pw@example.org/a/d");
  EXPECT_EQ(url.redirected("/d e").text(), "https://user:pw@example.org/d%20e");
  EXPECT_EQ(url.redirected("//cdn.example.org/d").text(), "https://cdn.example.org/d");
  EXPECT_EQ(url.redirected("https://other.org/").text(), "https://other.org/");
  EXPECT_EQ(HttpUrl("http://example.org/").redirected("https://example.org/").text(),
            "https://example.org/");
}

TEST(HttpUrl, NeverLeavesEncryptionNorHttp) {
  const HttpUrl url("https://example.org/");
  const auto redirect = [&](const char* location) {
    return message_of([&] { (void)url.redirected(location); });
  };
  EXPECT_THAT(redirect("http://example.org/"), HasSubstr("redirected from https to http"));
  EXPECT_THAT(redirect("file:///etc/passwd"), HasSubstr("redirected to file:"));
  EXPECT_THAT(redirect("ftp://example.org/"), HasSubstr("redirected to ftp:"));
  EXPECT_THAT(redirect("http://:0:0/"), HasSubstr("not a URL"));
}

}  // namespace
}  // namespace recordpipe
