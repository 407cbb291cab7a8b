// At every file system call in turn, the disk fails, the process is killed or the power fails. The
// final name never has an incomplete file, and the next run downloads the complete file.
#include <cerrno>

#include "dataset/http/files/partial_download.h"
#include "tests/io/http_download_fixture.h"
#include "tests/support/faulty_file_system.h"

namespace recordpipe {
namespace {

class HttpFaultsTest : public HttpDownloadTest {
 protected:
  // Prepares a partial file of an old version. The server has a new version and truncates it once:
  // the download reads the partial file, discards it, starts over and continues after the cut.
  void prepare() {
    std::filesystem::remove(target);
    leave_part(1000);
    server.put("a.tar.gz", changed);
    server.misbehave("times=1&cut=1500");
  }

  void run(FileSystem& files) { download(files, server.http("/a.tar.gz"), target, options); }

  // Expects no file or the complete file, then downloads without faults and expects the complete
  // file.
  void expect_file_or_nothing() {
    if (std::filesystem::exists(target)) {
      EXPECT_EQ(read_file(target), changed);
    }
    server.misbehave("");
    run(posix_file_system());
    EXPECT_EQ(read_file(target), changed);
    expect_only("a.tar.gz");
    server.put("a.tar.gz", content);
  }

  const std::string changed = archive(3000, 2);
};

TEST_F(HttpFaultsTest, AnyFailureOfTheDiskIsOneErrorAndTheNextRunSucceeds) {
  for (const int code : {EIO, ENOSPC}) {
    const uint64_t runs = for_every_fault(
        posix_file_system(), code, [&](FileSystem& files) { run(files); },
        [&](const FaultyFileSystem&) { expect_file_or_nothing(); }, [&] { prepare(); });
    EXPECT_GT(runs, 20u);
  }
}

TEST_F(HttpFaultsTest, WithoutTheMemoryToTidyUpTheProcessGoesOn) {
  FaultyFileSystem files(posix_file_system());
  {
    PartialDownload download(files, target, "http://example.org/", {});
    files.fail_call(files.calls() + 1, FaultyFileSystem::Fault::no_memory, 0);
  }
  EXPECT_EQ(files.failed_call(), "status a.tar.gz.part");
}

TEST_F(HttpFaultsTest, KilledAnywhereTheNextRunSucceeds) {
  for_every_kill(
      posix_file_system(), FaultyFileSystem::Fault::kill, [&](FileSystem& files) { run(files); },
      [&] { expect_file_or_nothing(); }, [&] { prepare(); });
}

TEST_F(HttpFaultsTest, AfterAPowerCutAnywhereTheNextRunSucceeds) {
  for_every_kill(
      posix_file_system(), FaultyFileSystem::Fault::power_loss,
      [&](FileSystem& files) { run(files); }, [&] { expect_file_or_nothing(); },
      [&] { prepare(); });
}

}  // namespace
}  // namespace recordpipe
