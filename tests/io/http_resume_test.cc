// Tests when the partial file of an earlier run is continued and when it is discarded.
#include "tests/io/http_download_fixture.h"
#include "tests/support/file_size_limit.h"

namespace recordpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kLastModified[] = "Mon, 01 Jan 2024 00:00:00 GMT";  // the server's

class HttpResumeTest : public HttpDownloadTest {
 protected:
  std::string etag() const { return '"' + sha256_of(content).substr(0, 16) + '"'; }

  // Returns the newest request.
  HttpServer::Request last() const { return server.requests().back(); }

  // Expects that a download of /a.tar.gz uses no byte of an earlier partial file; then removes the
  // downloaded file.
  void expect_started_from_zero(const std::string& expected) {
    const DownloadReport report = get("/a.tar.gz");
    EXPECT_EQ(read_file(target), expected);
    EXPECT_EQ(report.resumed_from, 0u);
    EXPECT_GE(report.received, expected.size());
    EXPECT_EQ(last().status, 200);
    expect_only("a.tar.gz");
    std::filesystem::remove(target);
  }
};

TEST_F(HttpResumeTest, AsksForTheRestOnly) {
  leave_part(1000);
  const DownloadReport report = get("/a.tar.gz");
  EXPECT_EQ(read_file(target), content);
  EXPECT_EQ(report.resumed_from, 1000u);
  EXPECT_EQ(report.received, 2000u);
  EXPECT_EQ(report.bytes, 3000u);
  EXPECT_EQ(report.sha256, sha256_of(content));
  EXPECT_EQ(last().range, "bytes=1000-");
  EXPECT_EQ(last().if_range, etag());
  expect_only("a.tar.gz");
}

TEST_F(HttpResumeTest, FromEveryByte) {
  content = archive(60);
  server.put("a.tar.gz", content);
  options.sha256 = sha256_of(content);
  for (size_t size = 0; size < content.size(); ++size) {
    leave_part(size);
    EXPECT_EQ(get("/a.tar.gz").resumed_from, size);
    EXPECT_EQ(read_file(target), content) << size;
    expect_only("a.tar.gz");
    std::filesystem::remove(target);
  }
}

TEST_F(HttpResumeTest, OneByteARun) {
  content = archive(40);
  server.put("a.tar.gz", content);
  server.misbehave("cut=1");
  options.retry.retries = 0;
  for (size_t run = 1; run < content.size(); ++run) {
    EXPECT_THAT(error_from("/a.tar.gz").hint(), HasSubstr("run again"));
    EXPECT_EQ(read_file(part), content.substr(0, run));
  }
  EXPECT_EQ(get("/a.tar.gz").received, 1u);
  EXPECT_EQ(read_file(target), content);
}

// --- partial files that may be continued ---

TEST_F(HttpResumeTest, AWeakETagLeavesLastModifiedToTrust) {
  leave_part(1000, "&etag=weak");
  EXPECT_EQ(get("/a.tar.gz").received, 2000u);
  EXPECT_EQ(last().if_range, kLastModified);
}

TEST_F(HttpResumeTest, WithoutAValidatorItStartsFromZero) {
  for (const char* headers : {"&etag=none&modified=none", "&etag=weak&modified=now"}) {
    leave_part(1000, headers);
    expect_started_from_zero(content);
    EXPECT_EQ(last().range, std::nullopt);
  }
}

TEST_F(HttpResumeTest, AKnownChecksumTakesThePlaceOfAValidator) {
  leave_part(1000, "&etag=none&modified=none");
  options.sha256 = sha256_of(content);
  EXPECT_EQ(get("/a.tar.gz").received, 2000u);
  EXPECT_EQ(last().range, "bytes=1000-");
  EXPECT_EQ(last().if_range, std::nullopt);
}

TEST_F(HttpResumeTest, APartOfAnotherUrlIsGivenUp) {
  leave_part(1000);
  const DownloadReport report = get("/a.tar.gz?other");
  EXPECT_EQ(last().range, std::nullopt);
  EXPECT_EQ(report.resumed_from, 0u);
  EXPECT_EQ(read_file(target), content);
}

TEST_F(HttpResumeTest, APartOfUnknownOriginIsGivenUp) {
  const std::string meta = part + ".meta";
  leave_part(1000);
  const std::string good = read_file(meta);
  std::string smuggled = good;
  smuggled.replace(smuggled.find(etag().substr(1, 16)), 16, "a\\\"\\r\\nX-Evil: \\\"");
  for (const std::string& text : {std::string(), std::string("{"), std::string("[]"), smuggled,
                                  good.substr(0, good.size() / 2), std::string(1 << 20, ' ')}) {
    write_file(part, content.substr(0, 1000));
    write_file(meta, text);
    expect_started_from_zero(content);
    EXPECT_EQ(last().range, std::nullopt) << text.substr(0, 1000);
  }
  write_file(part, content.substr(0, 1000));
  expect_started_from_zero(content);
}

TEST_F(HttpResumeTest, APartLargerThanAllowedIsGivenUp) {
  leave_part(1000);
  server.put("a.tar.gz", archive(20));
  options.max_bytes = 100;
  expect_started_from_zero(archive(20));
}

// --- the server's file has changed ---

TEST_F(HttpResumeTest, AChangedFileStartsFromZero) {
  for (const std::string& other : {archive(2500, 2), archive(3000, 2), archive(500, 2)}) {
    server.put("a.tar.gz", content);
    leave_part(1000);
    server.put("a.tar.gz", other);
    expect_started_from_zero(other);
  }
}

TEST_F(HttpResumeTest, AFileThatChangesBetweenTwoAttemptsStartsFromZero) {
  server.put("a.tar.gz.new", archive(2500, 2));
  server.misbehave("times=1&cut=1000&changed");
  expect_started_from_zero(archive(2500, 2));
}

TEST_F(HttpResumeTest, AnotherETagStartsFromZeroEvenIfTheServerIgnoresIfRange) {
  server.put("a.tar.gz.new", archive(3000, 2));
  server.misbehave("times=1&cut=1000&changed&stubborn");
  expect_started_from_zero(archive(3000, 2));
  EXPECT_EQ(server.requests().at(1).status, 206);
}

TEST_F(HttpResumeTest, PiecesOfTwoFilesAreFoundOutByTheChecksum) {
  server.put("a.tar.gz.new", archive(3000, 2));
  server.misbehave("times=1&cut=1000&changed&etag=none&modified=none");
  options.sha256 = sha256_of(archive(3000, 2));
  expect_started_from_zero(archive(3000, 2));
  EXPECT_EQ(server.requests().at(1).status, 206);
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST_F(HttpResumeTest, ADamagedPartIsFoundOutByTheChecksum) {
  leave_part(1000);
  write_file(part, archive(1000, 2));
  options.sha256 = sha256_of(content);
  expect_started_from_zero(content);
}

TEST_F(HttpResumeTest, AChecksumThatIsWrongInOnePieceTooFails) {
  leave_part(1000);
  options.sha256 = sha256_of("another file");
  EXPECT_EQ(error_from("/a.tar.gz").kind(), ErrorKind::checksum_mismatch);
  EXPECT_EQ(server.requests().size(), 3u);
  expect_nothing_left();
}

// --- the server ignores the request's conditions ---

TEST_F(HttpResumeTest, A200InPlaceOfThe206StartsFromZero) {
  leave_part(1000);
  server.misbehave("no_range");
  expect_started_from_zero(content);
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(HttpResumeTest, AnythingButTheRightContentRangeStartsFromZero) {
  for (const char* range :
       {"bytes 0-{last}/{size}", "bytes 999-{last}/{size}", "bytes {first}-{last}/3001",
        "bytes {first}-{last}/*", "bytes {first}-2000/{size}", "bytes */{size}", "nonsense", ""}) {
    leave_part(1000);
    server.misbehave("range=" + std::string(range));
    expect_started_from_zero(content);
    EXPECT_EQ(last().range, std::nullopt) << range;
  }
}

TEST_F(HttpResumeTest, MoreBytesThanTheRangeHasAreRefused) {
  leave_part(1000);
  server.misbehave("chunked&extra=5");
  EXPECT_THAT(error_from("/a.tar.gz").reason(), HasSubstr("more than it announced"));
  expect_nothing_left();
}

TEST_F(HttpResumeTest, LinksInThePlaceOfThePartAreRefused) {
  TemporaryDirectory elsewhere;
  const std::string victim = elsewhere / "victim";
  for (const std::string& link : {part, part + ".meta"}) {
    write_file(victim, "precious");
    std::filesystem::create_symlink(victim, link);
    const Error error = error_from("/a.tar.gz");
    EXPECT_EQ(error.kind(), ErrorKind::already_exists) << error.what();
    EXPECT_EQ(error.path(), link);
    EXPECT_EQ(read_file(victim), "precious");
    EXPECT_FALSE(std::filesystem::exists(target));
    std::filesystem::remove(link);
  }
}

TEST_F(HttpResumeTest, ALinkStaysAndWhatItLeadsToIsDownloaded) {
  TemporaryDirectory elsewhere;
  const std::string file = elsewhere / "file";
  std::filesystem::create_symlink(file, target);
  for (const char* old : {"", "old"}) {
    if (*old) write_file(file, old);
    get("/a.tar.gz");
    EXPECT_TRUE(std::filesystem::is_symlink(target));
    EXPECT_EQ(read_file(file), content);
    EXPECT_THAT(posix_file_system().list(elsewhere.path()), testing::ElementsAre("file"));
    expect_only("a.tar.gz");
  }
}

TEST_F(HttpResumeTest, AnswersThatAreNotTheFileLeaveThePartAlone) {
  leave_part(1000);
  for (const auto& [how, kind] : {std::pair("no_range&type=text/html", ErrorKind::unsupported),
                                  {"status=404", ErrorKind::not_found},
                                  {"status=503", ErrorKind::network},
                                  {"drop", ErrorKind::network},
                                  {"no_range&cut=0", ErrorKind::network}}) {
    server.misbehave(how);
    EXPECT_EQ(error_from("/a.tar.gz").kind(), kind) << how;
    EXPECT_EQ(read_file(part), content.substr(0, 1000)) << how;
  }
  server.misbehave("");
  EXPECT_EQ(get("/a.tar.gz").received, 2000u);
}

// --- the partial file is already complete ---

TEST_F(HttpResumeTest, AWholePartOfAKnownFileNeedsNoRequest) {
  write_file(part, content);
  options.sha256 = sha256_of(content);
  const DownloadReport report = get("/a.tar.gz");
  EXPECT_EQ(report.resumed_from, 3000u);
  EXPECT_EQ(report.received, 0u);
  EXPECT_EQ(read_file(target), content);
  EXPECT_TRUE(server.requests().empty());
  expect_only("a.tar.gz");
}

TEST_F(HttpResumeTest, A416ForTheRightSizeEndsIt) {
  leave_part(2999);
  write_file(part, content);
  const DownloadReport report = get("/a.tar.gz");
  EXPECT_EQ(last().status, 416);
  EXPECT_EQ(report.received, 0u);
  EXPECT_EQ(read_file(target), content);
  expect_only("a.tar.gz");
}

TEST_F(HttpResumeTest, A416ForAnotherSizeStartsFromZero) {
  leave_part(2999);
  write_file(part, content + "x");
  expect_started_from_zero(content);
  leave_part(2999);
  write_file(part, content);
  server.misbehave("total=5000");
  expect_started_from_zero(content);
}

TEST_F(HttpResumeTest, A416ForAFileOfAnotherChecksumStartsFromZero) {
  leave_part(2999);
  write_file(part, archive(3000, 2));
  options.sha256 = sha256_of(content);
  expect_started_from_zero(content);
}

// --- the disk ---

TEST_F(HttpResumeTest, AFullDiskKeepsThePartForTheNextRun) {
  {
    const FileSizeLimit limit(2000);
    const Error error = error_from("/a.tar.gz");
    EXPECT_EQ(error.kind(), ErrorKind::no_space);
    EXPECT_THAT(error.hint(), AllOf(HasSubstr("run again"), HasSubstr(part)));
    EXPECT_FALSE(std::filesystem::exists(target));
  }
  const DownloadReport report = get("/a.tar.gz");
  EXPECT_EQ(report.resumed_from, 2000u);
  EXPECT_EQ(read_file(target), content);
}

}  // namespace
}  // namespace recordpipe
