// Tests how the requests for objects are sent, sent once more, and refused: without a server.
#include "dataset/object_store/store.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/object_store/aws/s3_store.h"
#include "dataset/object_store/google/gcs_store.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Answer {
  long status = 200;
  std::string body = {};
  std::string region = {};  // x-amz-bucket-region
  std::string range = {};   // Content-Range
};

// A request that was answered.
class Answered final : public HttpReply {
 public:
  Answered(const HttpRequest& request, Answer answer)
      : head_({.url = request.url,
               .status = answer.status,
               .content_range = answer.range,
               .extensions = {{"x-amz-bucket-region", answer.region}}}),
        body_(std::move(answer.body)) {}

  const HttpResponse& head() override { return head_; }
  std::span<const std::byte> next() override {
    return as_bytes(std::exchange(was_read_, true) ? std::string_view() : body_);
  }

 private:
  const HttpResponse head_;
  const std::string body_;
  bool was_read_ = false;
};

class StoreTest : public testing::Test {
 protected:
  Environment environment() {
    return [this](const std::string& name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::string() : found->second;
    };
  }

  // Sends a request whose answers are `answers`, and keeps the requests and the last head.
  void send(ObjectStore& store, const std::string& object, const std::vector<Answer>& answers) {
    sent.clear();
    const HttpSend next = [&](const HttpRequest& request) {
      EXPECT_LT(sent.size(), answers.size());
      sent.push_back(request);
      return std::make_unique<Answered>(request, answers.at(sent.size() - 1));
    };
    head = store.send({.object = parse_object_url(object)}, next)->head();
  }

  std::map<std::string, std::string> variables{{"AWS_ACCESS_KEY_ID", "AKIDs3cr3t"},
                                               {"AWS_SECRET_ACCESS_KEY", "s3cr3t"},
                                               {"GOOGLE_OAUTH_ACCESS_TOKEN", "s3cr3t"}};
  std::vector<HttpRequest> sent;
  std::optional<HttpResponse> head;
};

TEST_F(StoreTest, FindsTheRegionOfABucketOfAws) {
  S3Store store(posix_file_system(), environment(), {});
  send(store, "s3://bucket/a", {{.status = 301, .region = "eu-west-3"}, {}});
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].url.text(), "https://bucket.s3.us-east-1.amazonaws.com/a");
  EXPECT_EQ(sent[1].url.text(), "https://bucket.s3.eu-west-3.amazonaws.com/a");
  EXPECT_THAT(sent[1].headers.back(), HasSubstr("/eu-west-3/s3/aws4_request"));
  // It is remembered, for this bucket.
  send(store, "s3://bucket/b", {{}});
  EXPECT_EQ(sent[0].url.text(), "https://bucket.s3.eu-west-3.amazonaws.com/b");
  send(store, "s3://other/b",
       {{.status = 400,
         .body = "<Error><Code>AuthorizationHeaderMalformed</Code>"
                 "<Region>sa-east-1</Region></Error>"},
        {}});
  EXPECT_EQ(sent[1].url.text(), "https://other.s3.sa-east-1.amazonaws.com/b");
}

TEST_F(StoreTest, ARegionIsNotABackDoorToAnotherHost) {
  S3Store store(posix_file_system(), environment(), {});
  for (const std::string region : {"evil.com/", "evil.com#", "a@evil", "", "A"}) {
    EXPECT_THROW(send(store, "s3://bucket/a", {{.status = 301, .region = region}}), Error);
    EXPECT_EQ(sent.size(), 1u);
  }
  // A server that sends the client to and fro.
  EXPECT_THROW(
      send(store, "s3://bucket/a",
           {{.status = 301, .region = "eu-west-1"}, {.status = 301, .region = "eu-west-2"}}),
      Error);
}

TEST_F(StoreTest, RequestsAreSentAsTheyWereSigned) {
  variables["AWS_ENDPOINT_URL"] = "http://localhost:9000";
  S3Store store(posix_file_system(), environment(), {});
  send(store, "s3://bucket/../a b", {{}});
  EXPECT_EQ(sent[0].url.text(), "http://localhost:9000/bucket/../a%20b");
  EXPECT_TRUE(sent[0].path_as_is);
  EXPECT_FALSE(sent[0].follow_redirects);
  EXPECT_THAT(sent[0].headers, testing::Contains("Host: localhost:9000"));
}

TEST_F(StoreTest, TheSizeOfA416IsPassedOn) {
  S3Store store(posix_file_system(), environment(), {});
  send(store, "s3://bucket/a",
       {{.status = 416, .body = "<Error><ActualObjectSize>0</ActualObjectSize></Error>"}});
  EXPECT_EQ(head->content_range, "bytes */0");
  send(store, "s3://bucket/a", {{.status = 416, .range = "bytes */7"}});
  EXPECT_EQ(head->content_range, "bytes */7");
  send(store, "s3://bucket/a", {{.status = 416, .body = "no XML"}});
  EXPECT_EQ(head->content_range, "");
}

TEST_F(StoreTest, KindsOfErrors) {
  S3Store s3(posix_file_system(), environment(), {});
  GcsStore gcs(posix_file_system(), environment(), {});
  const auto body = [](const std::string& code) {
    return "<Error><Code>" + code + "</Code><Message>your key AKIDs3cr3t s3cr3t</Message></Error>";
  };
  const auto kind_of = [&](ObjectStore& store, long status, const std::string& code) {
    const std::string object = &store == &s3 ? "s3://bucket/a" : "gs://bucket/a";
    const Answer answer{.status = status, .body = body(code)};
    const Error error = error_of([&] { send(store, object, {answer, answer}); });
    EXPECT_EQ(error.path(), object);
    EXPECT_THAT(error.what(), HasSubstr(code));
    EXPECT_THAT(error.what(), Not(HasSubstr("s3cr3t")));
    return error.kind();
  };
  EXPECT_EQ(kind_of(s3, 404, "NoSuchKey"), ErrorKind::not_found);
  EXPECT_EQ(kind_of(s3, 403, "AccessDenied"), ErrorKind::permission_denied);
  EXPECT_EQ(kind_of(s3, 400, "ExpiredToken"), ErrorKind::permission_denied);
  EXPECT_EQ(kind_of(s3, 405, "MethodNotAllowed"), ErrorKind::network);
  EXPECT_EQ(kind_of(gcs, 404, "NoSuchKey"), ErrorKind::not_found);
  EXPECT_EQ(kind_of(gcs, 401, "AuthenticationRequired"), ErrorKind::permission_denied);
  EXPECT_EQ(sent.size(), 2u);  // with a new token, if there was one
  EXPECT_THROW(send(s3, "s3://bucket/a", {{.status = 503}}), TransientError);
  EXPECT_THROW(send(s3, "s3://bucket/a", {{.status = 400, .body = body("RequestTimeout")}}),
               TransientError);
}

TEST_F(StoreTest, AnErrorOfAnySizeIsBounded) {
  S3Store store(posix_file_system(), environment(), {});
  const Error error = error_of(
      [&] { send(store, "s3://bucket/a", {{.status = 403, .body = std::string(1 << 20, '<')}}); });
  EXPECT_EQ(error.kind(), ErrorKind::permission_denied);
  EXPECT_LT(std::string(error.what()).size(), 300u);
}

}  // namespace
}  // namespace recordpipe
