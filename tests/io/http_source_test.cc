// Tests sequential reads of URLs: the server's bytes or an error, whatever happens during the
// transfer.
#include <algorithm>
#include <chrono>
#include <stop_token>
#include <thread>

#include "dataset/http/files/source.h"
#include "tests/io/http_reading_fixture.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class HttpSourceTest : public HttpReadingTest {
 protected:
  std::string read(const std::string& what) {
    return as_text(read_all(*files().open_source(server.http(what)), content.size() + 100'000));
  }
  Error error_from(const std::string& what) {
    return error_of([&] { read(what); });
  }
};

TEST_F(HttpSourceTest, GivesWhatTheServerHas) {
  EXPECT_EQ(read("/a"), content);
  EXPECT_EQ(server.requests().at(0).accept_encoding, "identity");
  EXPECT_EQ(read("/a?chunked"), content);
  EXPECT_EQ(read("/a?close"), content);
  server.put("empty", "");
  EXPECT_EQ(read("/empty"), "");
  EXPECT_EQ(read("/empty?chunked"), "");
}

TEST_F(HttpSourceTest, ReadsOnAtTheEnd) {
  HttpFileSystem file_system = files();
  const auto source = file_system.open_source(server.http("/a"));
  EXPECT_EQ(as_text(read_all(*source, 3000)), content);
  std::byte one;
  EXPECT_EQ(source->read({&one, 1}), 0u);
  EXPECT_EQ(source->read({&one, 1}), 0u);
}

TEST_F(HttpSourceTest, CutAtAnyByteItGoesOn) {
  content = noise(40);
  server.put("a", content);
  for (size_t k = 0; k < content.size(); ++k) {
    const std::string cut = "times=1&cut=" + std::to_string(k);
    EXPECT_EQ(read("/a?" + cut), content) << k;
    EXPECT_EQ(read("/a?chunked&" + cut), content) << k;
    const std::string range = ranges().back();
    EXPECT_EQ(range, k == 0 ? "" : "bytes=" + std::to_string(k) + "-");
  }
}

TEST_F(HttpSourceTest, ManyCutsInARowAreTooMany) {
  const Error error = error_from("/a?cut=1");  // each response ends after one more byte
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_THAT(error.what(), HasSubstr("4 attempts"));
  EXPECT_EQ(server.requests().size(), 4u);
}

TEST_F(HttpSourceTest, ALongStreamMayBeCutMoreOftenThanThat) {
  content = noise(size_t{9} << 20);
  server.put("a", content);
  server.misbehave("cut=1100000");  // of each response's body
  EXPECT_EQ(read("/a"), content);
  EXPECT_EQ(server.requests().size(), 9u);
}

TEST_F(HttpSourceTest, WithoutAValidatorACutIsTheEnd) {
  const Error error = error_from("/a?cut=1000&etag=none&modified=none");
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_EQ(error.offset(), 1000u);
  EXPECT_THAT(error.what(), HasSubstr("the transfer can't be resumed"));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(HttpSourceTest, GoesOnByItsDateWhereThereIsNoETag) {
  EXPECT_EQ(read("/a?times=1&cut=1000&etag=none"), content);
  EXPECT_EQ(server.requests().back().if_range, "Mon, 01 Jan 2024 00:00:00 GMT");
}

TEST_F(HttpSourceTest, AnotherFileMidwayIsAnError) {
  server.put("a.new", noise(3000, 2));
  for (const std::string how : {"", "&stubborn"}) {
    const Error error = error_from("/a?times=1&cut=1000&changed" + how);
    EXPECT_EQ(error.kind(), ErrorKind::network);
    EXPECT_THAT(error.what(), HasSubstr("the file changed on the server while it was read")) << how;
  }
}

TEST_F(HttpSourceTest, AWholeFileInPlaceOfItsRestIsPassedOver) {
  server.misbehave("no_range&cut=1000");
  const Error error = error_from("/a");  // no attempt gets beyond byte 1000
  EXPECT_THAT(error.what(), HasSubstr("4 attempts"));
  server.misbehave("times=2&no_range&cut=2000");
  EXPECT_EQ(read("/a"), content);
  server.misbehave("times=2&no_range&cut=1000");
  EXPECT_EQ(read("/a"), content);
}

TEST_F(HttpSourceTest, AMisplacedRangeIsAnError) {
  for (const std::string range : {"bytes+0-2999/3000", "bytes+1000-2999/4000", "nonsense", ""}) {
    const Error error = error_from("/a?cut=1000&range=" + range);
    EXPECT_EQ(error.kind(), ErrorKind::network);
    EXPECT_THAT(error.what(), HasSubstr("the file changed on the server")) << range;
  }
}

TEST_F(HttpSourceTest, MissingAndForbiddenFailAtOnce) {
  EXPECT_EQ(error_from("/none").kind(), ErrorKind::not_found);
  EXPECT_EQ(error_from("/a?status=403").kind(), ErrorKind::permission_denied);
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(HttpSourceTest, OpeningThrows) {
  HttpFileSystem file_system = files();
  EXPECT_EQ(error_of([&] { file_system.open_source(server.http("/none")); }).kind(),
            ErrorKind::not_found);
  EXPECT_EQ(error_of([&] { file_system.open_source("https://"); }).kind(),
            ErrorKind::invalid_argument);
}

TEST_F(HttpSourceTest, BusyServersAreAskedAgain) {
  std::vector<std::string> notices;
  options.notice = [&](std::string_view text) { notices.emplace_back(text); };
  EXPECT_EQ(read("/a?times=2&status=503"), content);
  EXPECT_EQ(read("/a?times=1&status=429"), content);
  EXPECT_THAT(notices.at(0),
              HasSubstr("the server answered 503, the server is busy or failing, trying"));
  EXPECT_EQ(error_from("/a?status=503").kind(), ErrorKind::network);
  EXPECT_EQ(server.requests().size(), 3u + 2 + 4);
  EXPECT_THAT(error_from("/a?status=429&retry_after=3600").what(),
              HasSubstr("asks to wait 3600 s"));
}

TEST_F(HttpSourceTest, AStallIsACut) {
  options.http.stall_timeout = std::chrono::milliseconds(200);
  EXPECT_EQ(read("/a?times=1&stall=1500"), content);
  EXPECT_THAT(ranges(), ElementsAre("", "bytes=1500-"));
}

TEST_F(HttpSourceTest, PagesAndWrongLengthsAreRefused) {
  EXPECT_THAT(error_from("/a?type=text/html").what(), HasSubstr("sent a web page in place"));
  EXPECT_EQ(error_from("/a?announce=10").kind(), ErrorKind::network);
}

TEST_F(HttpSourceTest, RedirectsStayOnTheWeb) {
  EXPECT_EQ(read("/r?redirect={http}/a"), content);
  EXPECT_THAT(error_from("/r?redirect=file:///etc/passwd").what(),
              HasSubstr("file:, which is refused"));
  server.misbehave("redirect=/a");
  EXPECT_THAT(error_from("/a").what(), HasSubstr("redirected more than 5 times"));
}

TEST_F(HttpSourceTest, NeverGoesFromHttpsToHttp) {
  const HttpServer secure(HttpServer::Tls::yes);
  options.http.ca_file = secure.ca_file();
  HttpFileSystem file_system = files();
  const Error error =
      error_of([&] { file_system.open_source(secure.https("/r?redirect={http}/a")); });
  EXPECT_THAT(error.what(), HasSubstr("redirected from https to http, which is refused"));
}

TEST_F(HttpSourceTest, MessagesHoldNoSecrets) {
  std::string url = server.http("/none?token=secret");
  url.insert(std::string_view("http://").size(), "me:secret@");
  HttpFileSystem file_system = files();
  const Error error = error_of([&] { file_system.open_source(url); });
  EXPECT_EQ(error.path(), server.http("/none?..."));
  EXPECT_THAT(error.what(), testing::Not(HasSubstr("secret")));
}

TEST_F(HttpSourceTest, HoldsNoMoreThanItsBuffersOfAnEndlessStream) {
  options.read_ahead = 10'000;
  HttpFileSystem file_system = files();
  const auto source = file_system.open_source(server.http("/a?endless"));
  std::vector<std::byte> bytes(3000);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(read_fully(*source, bytes), bytes.size());
    ASSERT_EQ(as_text(bytes), content);
  }
}  // the server's destructor ends the stream

TEST_F(HttpSourceTest, ReadsWithoutReadAhead) {
  options.read_ahead = 0;
  content = noise(100'000);
  server.put("a", content);
  EXPECT_EQ(read("/a"), content);
  EXPECT_EQ(read("/a?times=1&cut=50000"), content);
}

TEST_F(HttpSourceTest, AStopEndsAReadThatWaits) {
  std::stop_source stop;
  options.http.stop = stop.get_token();
  HttpFileSystem file_system = files();
  const auto source = file_system.open_source(server.http("/a?stall=100"));
  std::vector<std::byte> bytes(100);
  ASSERT_EQ(read_fully(*source, bytes), 100u);
  const std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  EXPECT_EQ(error_of([&] { source->read(bytes); }).kind(), ErrorKind::cancelled);
  EXPECT_EQ(error_of([&] { source->read(bytes); }).kind(), ErrorKind::cancelled);
}

TEST_F(HttpSourceTest, CanBeLeftWhileItWaits) {
  HttpFileSystem file_system = files();
  { const auto stalled = file_system.open_source(server.http("/a?stall=100")); }
  options.read_ahead = 1;
  HttpFileSystem narrow = files();
  { const auto full = narrow.open_source(server.http("/a")); }
}

}  // namespace
}  // namespace recordpipe
