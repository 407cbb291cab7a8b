// Tests downloads that are stopped or killed, and two simultaneous downloads.
#include <csignal>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "recordpipe/http/file_system.h"
#include "tests/io/http_download_fixture.h"

namespace recordpipe {
namespace {

using testing::HasSubstr;

class HttpProcessTest : public HttpDownloadTest {
 protected:
  // Downloads /a.tar.gz in a separate process.
  pid_t start_child() {
    const pid_t child = ::fork();
    if (child == 0) {
      options.http.stall_timeout = std::chrono::minutes(1);
      try {
        get("/a.tar.gz");
      } catch (const std::exception&) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    return child;
  }

  void kill_child(pid_t child) {
    ::kill(child, SIGKILL);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
  }

  void wait_for_part(size_t size) const {
    std::error_code missing;
    while (std::filesystem::file_size(part, missing) != size || missing) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
};

TEST_F(HttpProcessTest, GoesOnAfterSigkill) {
  for (const size_t size : {0u, 1u, 1000u, 2999u}) {
    server.misbehave("stall=" + std::to_string(size));
    const pid_t child = start_child();
    while (server.requests().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    wait_for_part(size);
    kill_child(child);
    EXPECT_FALSE(std::filesystem::exists(target));

    server.misbehave("");
    EXPECT_EQ(get("/a.tar.gz").resumed_from, size);
    EXPECT_EQ(read_file(target), content);
    expect_only("a.tar.gz");
    std::filesystem::remove(target);
  }
}

TEST_F(HttpProcessTest, ASecondProcessIsTurnedAway) {
  server.misbehave("stall=1000");
  const pid_t child = start_child();
  wait_for_part(1000);
  const Error error = error_from("/a.tar.gz");
  EXPECT_EQ(error.kind(), ErrorKind::busy);
  EXPECT_EQ(error.path(), part);
  EXPECT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(read_file(part), content.substr(0, 1000));
  kill_child(child);
}

// The thread that moves the bytes is the parent's, and so are its connections.
TEST_F(HttpProcessTest, AChildSendsRequestsWhileTheParentReads) {
  HttpFileSystem files(posix_file_system());
  const auto open = [&] { return files.open_source(server.http("/a.tar.gz")); };
  const auto source = open();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // ends a child that hangs
    try {
      ::_exit(as_text(read_all(*open(), 1 << 20)) == content ? 0 : 1);
    } catch (const std::exception&) {
      ::_exit(2);
    }
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(as_text(read_all(*source, 1 << 20)), content);
  EXPECT_EQ(as_text(read_all(*open(), 1 << 20)), content);
}

class HttpStopTest : public HttpDownloadTest {
 protected:
  HttpStopTest() {
    // Without the stop request, the test would time out.
    options.http.stall_timeout = std::chrono::minutes(10);
    options.http.stop = stop.get_token();
  }

  std::stop_source stop;
};

TEST_F(HttpStopTest, EndsATransferThatWaitsForTheServer) {
  server.misbehave("stall=1000");
  const std::jthread stopper([&] {
    while (!std::filesystem::exists(part) || std::filesystem::file_size(part) < 1000) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    stop.request_stop();
  });
  EXPECT_EQ(error_from("/a.tar.gz").kind(), ErrorKind::cancelled);
  EXPECT_EQ(read_file(part), content.substr(0, 1000));

  server.misbehave("");
  options.http.stop = {};
  EXPECT_EQ(get("/a.tar.gz").resumed_from, 1000u);
}

TEST_F(HttpStopTest, EndsAWaitForTheNextAttempt) {
  options.retry.first_delay = options.retry.longest_delay = std::chrono::minutes(10);
  options.notice = [&](std::string_view) { stop.request_stop(); };
  EXPECT_EQ(error_from("/a.tar.gz?status=503").kind(), ErrorKind::cancelled);
  EXPECT_EQ(server.requests().size(), 1u);
  expect_nothing_left();
}

TEST_F(HttpStopTest, AskedForBeforeItNothingIsDone) {
  leave_part(1000);
  stop.request_stop();
  EXPECT_EQ(error_from("/a.tar.gz").kind(), ErrorKind::cancelled);
  EXPECT_EQ(read_file(part), content.substr(0, 1000));
  EXPECT_EQ(server.requests().size(), 1u);
}

}  // namespace
}  // namespace recordpipe
