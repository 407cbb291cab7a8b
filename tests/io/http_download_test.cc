// Tests downloads and the server's responses. http_resume_test.cc tests partial files of earlier
// runs.
#include "recordpipe/http/download.h"
#include "tests/io/http_download_fixture.h"

namespace recordpipe {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST_F(HttpDownloadTest, BringsTheFileAndNothingElse) {
  options.sha256 = sha256_of(content);
  const DownloadReport report = get("/a.tar.gz");
  EXPECT_EQ(read_file(target), content);
  EXPECT_EQ(report.bytes, 3000u);
  EXPECT_EQ(report.received, 3000u);
  EXPECT_EQ(report.resumed_from, 0u);
  EXPECT_EQ(report.sha256, sha256_of(content));
  expect_only("a.tar.gz");
  ASSERT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(server.requests()[0].range, std::nullopt);
}

TEST_F(HttpDownloadTest, ReplacesAnOlderFile) {
  write_file(target, "old");
  get("/a.tar.gz");
  EXPECT_EQ(read_file(target), content);
}

TEST_F(HttpDownloadTest, KeepsThePermissionsOfTheFileItReplaces) {
  using std::filesystem::perms;
  for (const perms before : {perms{0600}, perms{0664}}) {
    write_file(target, "old");
    std::filesystem::permissions(target, before);
    leave_part(1000);  // the partial file must be as secret as the target
    EXPECT_EQ(std::filesystem::status(part).permissions(), before);
    get("/a.tar.gz");
    EXPECT_EQ(read_file(target), content);
    EXPECT_EQ(std::filesystem::status(target).permissions(), before);
  }
}

TEST_F(HttpDownloadTest, SaysTheChecksumThatWasNotAskedFor) {
  EXPECT_EQ(get("/a.tar.gz").sha256, sha256_of(content));
}

TEST_F(HttpDownloadTest, ReportsProgressUpToTheEnd) {
  std::vector<Progress> reports;
  options.progress = [&](const Progress& progress) { reports.push_back(progress); };
  get("/a.tar.gz?drip=1000");
  ASSERT_GE(reports.size(), 2u);
  EXPECT_EQ(reports.back().done, 3000u);
  EXPECT_EQ(reports.back().total, 3000u);
  EXPECT_EQ(reports.back().activity, "download");
}

TEST_F(HttpDownloadTest, AnExceptionFromTheProgressFunctionStopsIt) {
  options.progress = [](const Progress&) { throw std::runtime_error("enough"); };
  EXPECT_THROW(get("/a.tar.gz?drip=1000"), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(HttpDownloadTest, TakesBodiesOfUnknownLength) {
  get("/a.tar.gz?chunked");
  EXPECT_EQ(read_file(target), content);
  get("/a.tar.gz?close");
  EXPECT_EQ(read_file(target), content);
}

TEST_F(HttpDownloadTest, TakesAnEmptyFile) {
  server.put("empty", "");
  EXPECT_EQ(get("/empty").bytes, 0u);
  EXPECT_EQ(read_file(target), "");
  expect_only("a.tar.gz");
}

TEST_F(HttpDownloadTest, KeepsTheBytesThatTheServerStores) {
  get("/a.tar.gz?encoding=gzip");
  EXPECT_EQ(read_file(target), content);
  EXPECT_EQ(server.requests()[0].accept_encoding, "identity");
}

TEST_F(HttpDownloadTest, AsksForNothingIfTheFolderIsMissing) {
  try {
    download(posix_file_system(), server.http("/a.tar.gz"), folder / "none/a", options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
  }
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpDownloadTest, AsksForNothingIfAFolderIsInItsPlace) {
  std::filesystem::create_directory(target);
  EXPECT_EQ(error_from("/a.tar.gz").kind(), ErrorKind::invalid_argument);
  EXPECT_TRUE(server.requests().empty());
  expect_only("a.tar.gz");
}

// --- errors ---

TEST_F(HttpDownloadTest, AWrongChecksumLeavesNothing) {
  options.sha256 = sha256_of("another file");
  const Error error = error_from("/a.tar.gz");
  EXPECT_EQ(error.kind(), ErrorKind::checksum_mismatch);
  EXPECT_THAT(error.what(), AllOf(HasSubstr(sha256_of(content)), HasSubstr(*options.sha256)));
  expect_nothing_left();
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(HttpDownloadTest, AnIllFormedChecksumIsSaidAtOnce) {
  options.sha256 = "abc";
  EXPECT_EQ(error_from("/a.tar.gz").kind(), ErrorKind::invalid_argument);
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpDownloadTest, AMissingOrForbiddenFileFailsAtOnce) {
  EXPECT_EQ(error_from("/none.tar.gz").kind(), ErrorKind::not_found);
  EXPECT_EQ(error_from("/a.tar.gz?status=410").kind(), ErrorKind::not_found);
  EXPECT_EQ(error_from("/a.tar.gz?status=403").kind(), ErrorKind::permission_denied);
  EXPECT_EQ(error_from("/a.tar.gz?status=401").kind(), ErrorKind::permission_denied);
  EXPECT_EQ(error_from("/a.tar.gz?status=418").kind(), ErrorKind::network);
  EXPECT_EQ(error_from("/a.tar.gz?status=204").kind(), ErrorKind::network);
  EXPECT_EQ(error_from("/a.tar.gz?status=206").kind(), ErrorKind::network);
  EXPECT_EQ(error_from("/a.tar.gz?status=416").kind(), ErrorKind::network);
  EXPECT_EQ(error_from("/a.tar.gz?status=304").kind(), ErrorKind::network);
  EXPECT_EQ(server.requests().size(), 9u);
  expect_nothing_left();
}

TEST_F(HttpDownloadTest, AWebPageIsNotAFile) {
  server.put("login", "\n<!DOCTYPE html><html>Please log in</html>");
  for (const char* what : {"/login", "/login?drip=7", "/a.tar.gz?type=text/html;charset=utf-8"}) {
    const Error error = error_from(what);
    EXPECT_EQ(error.kind(), ErrorKind::unsupported) << what;
    EXPECT_THAT(error.hint(), HasSubstr("browser"));
    expect_nothing_left();
  }
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST_F(HttpDownloadTest, TooManyBytesAreRefused) {
  options.max_bytes = 2999;
  for (const char* what :
       {"/a.tar.gz", "/a.tar.gz?chunked", "/a.tar.gz?close", "/a.tar.gz?endless"}) {
    EXPECT_EQ(error_from(what).kind(), ErrorKind::limit_exceeded) << what;
    expect_nothing_left();
  }
  options.max_bytes = 3000;
  get("/a.tar.gz?chunked");
  EXPECT_EQ(read_file(target), content);
}

TEST_F(HttpDownloadTest, BytesBeyondTheAnnouncedLengthAreNotPartOfTheFile) {
  get("/a.tar.gz?extra=100");
  EXPECT_EQ(read_file(target), content);
}

TEST_F(HttpDownloadTest, AHeaderThatIsTooLongIsTheServersFault) {
  EXPECT_EQ(error_from("/a.tar.gz?long_header").kind(), ErrorKind::network);
  expect_nothing_left();
}

TEST_F(HttpDownloadTest, MessagesHoldNoSecrets) {
  std::string url = server.http("/a.tar.gz?status=404&token=secret");
  url.insert(url.find("127"), "user:secret@");
  EXPECT_THAT(error_of(url).what(), AllOf(HasSubstr("/a.tar.gz"), Not(HasSubstr("secret"))));
  EXPECT_EQ(server.requests().at(0).authorization, "Basic dXNlcjpzZWNyZXQ=");
}

// --- retries ---

TEST_F(HttpDownloadTest, TriesAgainWhileTheServerIsBusy) {
  for (const char* status : {"408", "429", "500", "502", "503", "504"}) {
    get("/a.tar.gz?times=2&status=" + std::string(status));
    EXPECT_EQ(read_file(target), content);
  }
  EXPECT_EQ(server.requests().size(), 6u * 3u);
}

TEST_F(HttpDownloadTest, TriesABoundedNumberOfTimes) {
  std::vector<std::string> notices;
  options.notice = [&](std::string_view notice) { notices.emplace_back(notice); };
  const Error error = error_from("/a.tar.gz?status=503");
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_THAT(error.reason(), AllOf(HasSubstr("503"), HasSubstr("4 attempts")));
  EXPECT_EQ(server.requests().size(), 4u);
  EXPECT_THAT(notices, testing::SizeIs(3));
  EXPECT_THAT(notices.at(0), AllOf(HasSubstr("503"), HasSubstr("trying again in")));
  expect_nothing_left();
}

TEST_F(HttpDownloadTest, WaitsAsLongAsTheServerAsks) {
  const auto start = std::chrono::steady_clock::now();
  get("/a.tar.gz?times=1&status=503&retry_after=1");
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_EQ(read_file(target), content);
}

TEST_F(HttpDownloadTest, GivesUpIfTheServerAsksForTooLong) {
  const Error error = error_from("/a.tar.gz?times=1&status=429&retry_after=3600");
  EXPECT_THAT(error.reason(), AllOf(HasSubstr("429"), HasSubstr("wait 3600 s")));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(HttpDownloadTest, ACutTransferGoesOnWhereItStopped) {
  options.sha256 = sha256_of(content);
  const DownloadReport report = get("/a.tar.gz?times=2&cut=1000");
  EXPECT_EQ(read_file(target), content);
  EXPECT_EQ(report.received, 3000u);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[1].range, "bytes=1000-");
  EXPECT_EQ(requests[2].range, "bytes=2000-");
  EXPECT_EQ(requests[2].if_range, "\"" + sha256_of(content).substr(0, 16) + "\"");
}

TEST_F(HttpDownloadTest, AStalledTransferGoesOnWhereItStopped) {
  options.http.stall_timeout = std::chrono::seconds(1);
  options.http.stall_bytes = 1;
  get("/a.tar.gz?times=1&stall=1000");
  EXPECT_EQ(read_file(target), content);
  EXPECT_EQ(server.requests().at(1).range, "bytes=1000-");
}

TEST_F(HttpDownloadTest, ATransferThatDripsIsStalled) {
  options.retry.retries = 0;
  options.http.stall_timeout = std::chrono::milliseconds(200);
  options.http.stall_bytes = 1000;
  EXPECT_THAT(error_from("/a.tar.gz?drip=10").reason(), HasSubstr("stalled"));
}

TEST_F(HttpDownloadTest, ABodyShorterThanAnnouncedIsCut) {
  options.retry.retries = 1;
  const Error error = error_from("/a.tar.gz?announce=10");
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(HttpDownloadTest, AServerThatNeverAnswersGetsTwoAttempts) {
  EXPECT_EQ(error_from("/a.tar.gz?drop").kind(), ErrorKind::network);
  EXPECT_EQ(server.requests().size(), 2u);
  EXPECT_EQ(error_from("/a.tar.gz?garbage").kind(), ErrorKind::network);
  expect_nothing_left();
}

TEST_F(HttpDownloadTest, AHostThatCannotBeReachedIsSaidInOneLine) {
  for (const char* url : {"http://127.0.0.1:1/a.tar.gz", "http://host.invalid/a.tar.gz"}) {
    const Error error = error_of(url);
    EXPECT_EQ(error.kind(), ErrorKind::network);
    EXPECT_EQ(error.path(), url);
    EXPECT_THAT(error.hint(), HasSubstr("network")) << error.what();
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    expect_nothing_left();
  }
}

// --- redirects ---

TEST_F(HttpDownloadTest, FollowsRedirects) {
  get("/x?redirect=/y?redirect=/a.tar.gz");
  EXPECT_EQ(read_file(target), content);
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST_F(HttpDownloadTest, ARedirectLoopEnds) {
  server.misbehave("redirect=/x");
  EXPECT_THAT(error_from("/x").reason(),
              AllOf(HasSubstr("redirected more than 5 times"), EndsWith("/x")));
  EXPECT_EQ(server.requests().size(), 6u);
}

TEST_F(HttpDownloadTest, RedirectsToOtherProtocolsAreRefused) {
  for (const char* location : {"file:///etc/passwd", "ftp://127.0.0.1/a"}) {
    EXPECT_THAT(error_from("/x?redirect=" + std::string(location)).reason(),
                HasSubstr("which is refused"));
  }
  EXPECT_EQ(server.requests().size(), 2u);
  EXPECT_EQ(error_of("file://" + target).kind(), ErrorKind::invalid_argument);
  expect_nothing_left();
}

class HttpsDownloadTest : public HttpDownloadTest {
 protected:
  HttpsDownloadTest() : HttpDownloadTest(HttpServer::Tls::yes) {
    options.http.ca_file = server.ca_file();
  }
};

TEST_F(HttpsDownloadTest, FollowsRedirectsToHttpsButNotBack) {
  download(posix_file_system(), server.http("/x?redirect={https}/a.tar.gz"), target, options);
  EXPECT_EQ(read_file(target), content);
  EXPECT_EQ(server.requests().size(), 2u);

  const std::string back = server.https("/x?redirect={http}/a.tar.gz");
  EXPECT_THAT(error_of(back).reason(), HasSubstr("from https to http"));
  EXPECT_THAT(error_of(server.http("/x?redirect=" + back)).reason(),
              HasSubstr("from https to http"));
  EXPECT_EQ(server.requests().size(), 5u);
}

TEST_F(HttpsDownloadTest, RefusesACertificateThatIsNotTrusted) {
  options.http.ca_file.clear();
  const Error error = error_of(server.https("/a.tar.gz"));
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_THAT(error.hint(), HasSubstr("certificates"));
  EXPECT_TRUE(server.requests().empty());
}

}  // namespace
}  // namespace recordpipe
