// Runs the same tests on all implementations of RandomAccessFile.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/io/http_reading_fixture.h"
#include "tests/support/faulty_file_system.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;

// A file that tests can write, open for reading, and replace.
class Place {
 public:
  virtual ~Place() = default;
  virtual void write(const std::string& content) = 0;
  virtual std::unique_ptr<RandomAccessFile> open() = 0;
};

class LocalPlace : public Place {
 public:
  void write(const std::string& content) override { write_file(path_, content); }
  std::unique_ptr<RandomAccessFile> open() override {
    return posix_file_system().open_random(path_);
  }

 protected:
  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "a";
};

class MappedPlace final : public LocalPlace {
 public:
  std::unique_ptr<RandomAccessFile> open() override { return posix_file_system().map(path_); }
};

class FaultyPlace final : public LocalPlace {
 public:
  std::unique_ptr<RandomAccessFile> open() override { return files_.open_random(path_); }

 private:
  FaultyFileSystem files_{posix_file_system()};
};

class HttpPlace final : public Place {
 public:
  HttpPlace() { ::setenv("no_proxy", "*", 1); }
  void write(const std::string& content) override { server_.put("a", content); }
  std::unique_ptr<RandomAccessFile> open() override {
    return files_.open_random(server_.http("/a"));
  }

 private:
  HttpServer server_;
  HttpFileSystem files_{posix_file_system(), {.smallest_window = 100, .largest_window = 800}};
};

template <typename T>
std::unique_ptr<Place> make_place() {
  return std::make_unique<T>();
}

struct Implementation {
  const char* name;
  std::unique_ptr<Place> (*make)();
};

class RandomAccessFileTest : public testing::TestWithParam<Implementation> {
 protected:
  static std::string read(const RandomAccessFile& file, uint64_t offset, size_t size) {
    std::vector<std::byte> scratch(size);
    return as_text(file.read(offset, size, scratch));
  }

  const std::unique_ptr<Place> place = GetParam().make();
  const std::string content = [] {
    std::mt19937 random(1);
    std::string bytes(20'000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  }();
};

TEST_P(RandomAccessFileTest, ReadsWhatIsThereUpToTheEnd) {
  place->write(content);
  const auto file = place->open();
  ASSERT_EQ(file->size(), content.size());
  for (const size_t offset : {0, 1, 4095, 4096, 19'999, 20'000, 150, 0, 9999}) {
    for (const size_t size : {0, 1, 12, 100, 101, 4097, 30'000}) {
      EXPECT_EQ(read(*file, offset, size), content.substr(offset, size)) << offset << " " << size;
    }
  }
  EXPECT_EQ(read(*file, 20'001, 5), "");
  EXPECT_EQ(read(*file, UINT64_MAX, 5), "");
  EXPECT_EQ(read(*file, UINT64_MAX - 4, 100), "");
  EXPECT_FALSE(file->damaged());
}

TEST_P(RandomAccessFileTest, AnEmptyFileHasNothing) {
  place->write("");
  const auto file = place->open();
  EXPECT_EQ(file->size(), 0u);
  EXPECT_EQ(read(*file, 0, 10), "");
  std::vector<ReadRequest> requests(1);
  file->read_many(requests);
  EXPECT_THAT(requests[0].data, IsEmpty());
}

TEST_P(RandomAccessFileTest, StableViewsNeedNoScratch) {
  place->write(content);
  const auto file = place->open();
  EXPECT_EQ(file->stable(), GetParam().name == std::string("Mapped"));
  if (!file->stable()) return;
  const auto first = file->read(0, 10, {});
  const auto all = file->read(0, 30'000, {});
  EXPECT_EQ(as_text(first), content.substr(0, 10));
  EXPECT_EQ(as_text(all), content);
  EXPECT_EQ(first.data(), all.data());
}

TEST_P(RandomAccessFileTest, ReadsAtFillsItsArgument) {
  place->write(content);
  const auto file = place->open();
  std::string out(100, '?');
  EXPECT_EQ(file->read_at(19'950, std::as_writable_bytes(std::span(out))), 50u);
  EXPECT_EQ(out, content.substr(19'950) + std::string(50, '?'));
}

TEST_P(RandomAccessFileTest, ReadsManyInAnyOrder) {
  place->write(content);
  const auto file = place->open();
  std::mt19937 random(2);
  for (int round = 0; round < 8; ++round) {
    // Ranges that are adjacent, far apart, repeated, overlapping, or past the end.
    std::vector<std::pair<uint64_t, size_t>> places = {
        {0, 12}, {12, 12}, {5, 3}, {0, 12}, {19'990, 100}, {25'000, 7}, {300, 0}, {3000, 1500}};
    for (int i = 0; i < 20; ++i) {
      places.emplace_back(random() % 21'000, random() % (round % 2 == 0 ? 50 : 2000));
    }
    std::ranges::shuffle(places, random);
    std::vector<std::vector<std::byte>> memory;
    std::vector<ReadRequest> requests;
    for (const auto& [offset, size] : places) {
      memory.emplace_back(size);
      requests.push_back({.offset = offset, .size = size, .scratch = memory.back()});
    }
    file->read_many(requests);
    for (size_t i = 0; i < places.size(); ++i) {
      const auto [offset, size] = places[i];
      const auto expected = content.substr(std::min<size_t>(offset, content.size()), size);
      EXPECT_EQ(as_text(requests[i].data), expected) << offset << " " << size;
    }
  }
}

TEST_P(RandomAccessFileTest, HintsChangeNothing) {
  place->write(content);
  const auto file = place->open();
  for (const ReadHint hint : {ReadHint::will_need, ReadHint::done}) {
    file->hint(0, 20'000, hint);
    file->hint(19'999, UINT64_MAX / 2, hint);
    file->hint(30'000, 1, hint);
    EXPECT_EQ(read(*file, 0, 30'000), content);
  }
}

TEST_P(RandomAccessFileTest, AnotherContentHasAnotherIdentity) {
  place->write(content);
  const std::string identity = place->open()->identity();
  EXPECT_FALSE(identity.empty());
  EXPECT_EQ(place->open()->identity(), identity);
  place->write(content + "more");
  EXPECT_NE(place->open()->identity(), identity);
}

INSTANTIATE_TEST_SUITE_P(All, RandomAccessFileTest,
                         testing::Values(Implementation{"Posix", make_place<LocalPlace>},
                                         Implementation{"Mapped", make_place<MappedPlace>},
                                         Implementation{"Faulty", make_place<FaultyPlace>},
                                         Implementation{"Http", make_place<HttpPlace>}),
                         [](const auto& tested) { return tested.param.name; });

// Tests local files; the parameter is true if they are mapped.
class LocalFileTest : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<RandomAccessFile> open() const {
    if (GetParam()) return files.map(path);
    return files.open_random(path);
  }

  const TemporaryDirectory directory;
  const std::string path = directory / "a";
  FileSystem& files = posix_file_system();
};

TEST_P(LocalFileTest, ACutWhileItIsReadIsDamage) {
  write_file(path, std::string(20'000, 'x'));
  const auto file = open();
  std::vector<std::byte> scratch(20'000);
  EXPECT_THAT(file->read(0, 20'000, scratch), SizeIs(20'000));
  EXPECT_FALSE(file->damaged());
  std::filesystem::resize_file(path, 5'000);
  // After the truncation, a mapped file continues with zeros, and an unmapped file ends.
  const auto part = file->read(4'900, 15'100, scratch);
  ASSERT_GE(part.size(), 100u);
  EXPECT_THAT(part.first(100), Each(std::byte{'x'}));
  EXPECT_THAT(part.subspan(100), Each(std::byte{0}));
  EXPECT_TRUE(file->damaged());
  EXPECT_EQ(file->size(), 20'000u);
}

TEST_P(LocalFileTest, WhatIsAddedMeanwhileIsNotRead) {
  write_file(path, "old");
  const auto file = open();
  write_file(path, "old and new");
  std::vector<std::byte> scratch(20);
  EXPECT_EQ(as_text(file->read(0, 20, scratch)), "old");
  EXPECT_FALSE(file->damaged());
}

TEST_P(LocalFileTest, AFileThatTookItsPlaceHasAnotherIdentity) {
  write_file(path, "content");
  const auto file = open();
  const std::string identity = file->identity();
  write_file(directory / "b", "another");
  std::filesystem::last_write_time(directory / "b", std::filesystem::last_write_time(path));
  std::filesystem::rename(directory / "b", path);
  EXPECT_NE(open()->identity(), identity);
  EXPECT_EQ(file->identity(), identity);
}

TEST_P(LocalFileTest, AFileThatWasWrittenAgainHasAnotherIdentity) {
  write_file(path, "content");
  const std::string identity = open()->identity();
  std::filesystem::last_write_time(
      path, std::filesystem::last_write_time(path) + std::chrono::milliseconds(10));
  EXPECT_NE(open()->identity(), identity);
}

INSTANTIATE_TEST_SUITE_P(All, LocalFileTest, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Mapped" : "Posix"; });

using HttpReadManyTest = HttpReadingTest;

TEST_F(HttpReadManyTest, NeighboursAreOneRequest) {
  options.smallest_window = 100;
  options.largest_window = 800;
  const auto read_many = [&](const std::vector<std::pair<uint64_t, size_t>>& places) {
    const size_t before = server.requests().size();
    const auto file = files().open_random(server.http("/a"));
    std::vector<std::vector<std::byte>> memory;
    std::vector<ReadRequest> requests;
    for (const auto& [offset, size] : places) {
      memory.emplace_back(size);
      requests.push_back({.offset = offset, .size = size, .scratch = memory.back()});
    }
    file->read_many(requests);
    for (const ReadRequest& request : requests) {
      EXPECT_EQ(as_text(request.data), content.substr(request.offset, request.size));
    }
    auto all = ranges();
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(before) + 1);
    return all;
  };
  using testing::ElementsAre;
  using testing::UnorderedElementsAre;  // several are sent at a time
  // These ranges are in the window that was read on opening.
  EXPECT_THAT(read_many({{0, 50}, {60, 40}}), IsEmpty());
  EXPECT_THAT(read_many({{1000, 10}, {1110, 10}, {1010, 5}}), ElementsAre("bytes=1000-1119"));
  EXPECT_THAT(read_many({{2000, 12}, {1000, 12}, {2990, 50}}),
              UnorderedElementsAre("bytes=1000-1011", "bytes=2000-2011", "bytes=2990-2999"));
  // The size of a combined request is limited, which bounds the memory used.
  EXPECT_THAT(read_many({{200, 500}, {700, 500}, {1200, 100}}),
              UnorderedElementsAre("bytes=200-699", "bytes=700-1299"));
  EXPECT_THAT(read_many({{200, 2000}, {300, 1}}),
              UnorderedElementsAre("bytes=200-2199", "bytes=300-300"));
}

TEST(HttpIdentity, FollowsTheServersTag) {
  ::setenv("no_proxy", "*", 1);
  HttpServer server;
  HttpFileSystem files(posix_file_system());
  server.put("a", "first");
  const std::string identity = files.open_random(server.http("/a"))->identity();
  server.put("a", "other");
  EXPECT_NE(files.open_random(server.http("/a"))->identity(), identity);
  server.put("a", "first");
  EXPECT_EQ(files.open_random(server.http("/a"))->identity(), identity);
}

TEST(HttpIdentity, IsUnknownWithoutATagOrAnOldDate) {
  ::setenv("no_proxy", "*", 1);
  HttpServer server;
  HttpFileSystem files(posix_file_system());
  server.put("a", "first");
  EXPECT_EQ(files.open_random(server.http("/a?etag=none&modified=none"))->identity(), "");
  server.put("a", "");
  EXPECT_NE(files.open_random(server.http("/a?etag=none&modified=none"))->identity(), "");
}

}  // namespace
}  // namespace recordpipe
