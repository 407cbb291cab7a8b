// Tests single requests: methods, redirects and credentials.
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/http/client.h"
#include "tests/support/expect_error.h"
#include "tests/support/http_server.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;

class HttpClientTest : public testing::Test {
 protected:
  HttpClientTest() : server(HttpServer::Tls::yes) {
    ::setenv("no_proxy", "*", 1);
    server.put("a", "content");
  }

  // Returns the status.
  long send(HttpRequest request) {
    HttpClient client({.ca_file = server.ca_file()});
    const auto reply = client.send(std::move(request));
    const long status = reply->head().status;
    while (!reply->next().empty()) {
    }
    return status;
  }

  HttpServer server;
};

TEST_F(HttpClientTest, CredentialsStayAtTheirOrigin) {
  const std::vector<std::string> secrets{"Authorization: Bearer secret"};
  // The same origin: the request after the redirect has the header.
  EXPECT_EQ(send({.url = HttpUrl(server.http("/a?redirect={http}/a%3Fx")), .headers = secrets}),
            200);
  // Another port.
  EXPECT_EQ(send({.url = HttpUrl(server.http("/a?redirect={https}/a%3Fx")), .headers = secrets}),
            200);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(requests[0].authorization, "Bearer secret");
  EXPECT_EQ(requests[1].authorization, "Bearer secret");
  EXPECT_EQ(requests[2].authorization, "Bearer secret");
  EXPECT_EQ(requests[3].authorization, std::nullopt);
}

TEST_F(HttpClientTest, RedirectsAreNotFollowedUnlessWanted) {
  EXPECT_EQ(
      send({.url = HttpUrl(server.http("/a?redirect={http}/a%3Fx")), .follow_redirects = false}),
      302);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(HttpClientTest, DotSegmentsAreKeptIfWanted) {
  send({.url = HttpUrl(server.http("/b/../a?x")), .path_as_is = true});
  send({.url = HttpUrl(server.http("/b/../a?x"))});
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].url, "/b/../a?x");
  EXPECT_EQ(requests[1].url, "/a?x");
}

TEST_F(HttpClientTest, SendsOtherMethods) {
  // This server knows GET only.
  EXPECT_EQ(send({.url = HttpUrl(server.http("/a?x")), .method = "PUT"}), 501);
  EXPECT_EQ(send({.url = HttpUrl(server.http("/a?x")),
                  .method = "POST",
                  .body = std::make_shared<const std::string>("form")}),
            501);
}

TEST_F(HttpClientTest, AnotherNameForMessages) {
  const HttpUrl url = HttpUrl(server.http("/a?status=404")).shown_as("s3://bucket/a");
  EXPECT_EQ(url.shown(), "s3://bucket/a");
  EXPECT_EQ(url.text(), server.http("/a?status=404"));
  EXPECT_TRUE(url.has_same_origin(HttpUrl(server.http("/"))));
  EXPECT_FALSE(url.has_same_origin(HttpUrl(server.https("/"))));
  EXPECT_TRUE(HttpUrl("https://Example.org").has_same_origin(HttpUrl("https://example.org:443/a")));
  EXPECT_FALSE(HttpUrl("http://example.org").has_same_origin(HttpUrl("https://example.org")));
  const Error error =
      error_of([&] { send({.url = HttpUrl(server.http("/a?drop")).shown_as("s3://bucket/a")}); });
  EXPECT_THAT(error.what(), HasSubstr("s3://bucket/a: "));
}

}  // namespace
}  // namespace recordpipe
