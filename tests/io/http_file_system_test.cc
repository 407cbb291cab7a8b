// Tests a file system for both URLs and local files: the target of each call, and unsupported
// calls.
#include "recordpipe/http/file_system.h"
#include "tests/io/http_reading_fixture.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;

using HttpFileSystemTest = HttpReadingTest;

TEST_F(HttpFileSystemTest, TellsTheSizeByOneRequest) {
  HttpFileSystem file_system = files();
  server.put("empty", "");
  for (const std::string how : {"?x", "?no_range", "?etag=none", "?times=1&status=503"}) {
    EXPECT_EQ(file_system.status(server.http("/a" + how)).value().size, 3000u) << how;
    EXPECT_EQ(file_system.status(server.http("/empty" + how)).value().size, 0u) << how;
  }
  EXPECT_EQ(file_system.status(server.http("/a")).value().kind, FileKind::regular);
  EXPECT_EQ(server.requests().size(), 4u * 2 + 2 + 1);
}

TEST_F(HttpFileSystemTest, TellsWhatIsNotThere) {
  HttpFileSystem file_system = files();
  EXPECT_EQ(file_system.status(server.http("/none")), std::nullopt);
  EXPECT_EQ(error_of([&] { file_system.status(server.http("/a?status=403")); }).kind(),
            ErrorKind::permission_denied);
  const Error unknown = error_of([&] { file_system.status(server.http("/a?no_range&chunked")); });
  EXPECT_EQ(unknown.kind(), ErrorKind::unsupported);
  EXPECT_THAT(unknown.what(), HasSubstr("does not report the file's size"));
}

TEST_F(HttpFileSystemTest, RefusesWhatUrlsCannotDo) {
  HttpFileSystem file_system = files();
  const std::string url = server.http("/a?token=secret");
  const auto expect_refused = [&](const auto& action) {
    const Error error = error_of([&] { action(); });
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_EQ(error.path(), server.http("/a?..."));
    EXPECT_FALSE(error.hint().empty());
  };
  expect_refused([&] { file_system.map(url); });
  expect_refused([&] { file_system.list(url); });
  expect_refused([&] { file_system.create(url, CreateMode::truncate); });
  expect_refused([&] { file_system.make_directories(url); });
  expect_refused([&] { file_system.rename(url, "b"); });
  expect_refused([&] { file_system.rename("b", url); });
  expect_refused([&] { file_system.remove(url); });
  expect_refused([&] { file_system.remove_empty_directory(url); });
  expect_refused([&] { file_system.sync_directory(url); });
  expect_refused([&] { file_system.lock(url); });
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpFileSystemTest, LeavesLocalFilesToTheOther) {
  HttpFileSystem file_system = files();
  const TemporaryDirectory folder;
  const std::string path = folder / "http:";
  file_system.make_directories(folder / "sub");
  {
    const auto lock = file_system.lock(folder / "lock");
    const auto out = file_system.create(path + ".new", CreateMode::truncate);
    out->write(as_bytes("abc"));
    out->close();
  }
  file_system.rename(path + ".new", path);
  file_system.sync_directory(folder.path());
  EXPECT_EQ(file_system.status(path).value().size, 3u);
  EXPECT_EQ(as_text(read_all(*file_system.open_source(path), 10)), "abc");
  EXPECT_EQ(file_system.open_random(path)->size(), 3u);
  EXPECT_EQ(file_system.map(path)->bytes().size(), 3u);
  EXPECT_EQ(file_system.list(folder.path()).size(), 3u);
  file_system.remove(path);
  file_system.remove_empty_directory(folder / "sub");
  EXPECT_EQ(file_system.list(folder.path()).size(), 1u);
}

TEST_F(HttpFileSystemTest, KnowsAUrlByItsScheme) {
  EXPECT_TRUE(is_http_url("http://a/b"));
  EXPECT_TRUE(is_http_url("HTTPS://a/b"));
  EXPECT_FALSE(is_http_url("http:/a"));
  EXPECT_FALSE(is_http_url("ftp://a/b"));
  EXPECT_FALSE(is_http_url("./http://a"));
  EXPECT_FALSE(is_http_url(""));
}

}  // namespace
}  // namespace recordpipe
