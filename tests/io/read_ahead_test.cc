// Tests that ReadAhead returns its source's bytes, uses bounded memory, and rethrows an exception
// after all bytes that precede it.
#include "dataset/io/read_ahead.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

std::string numbers(size_t size) {
  std::string text;
  for (size_t i = 0; text.size() < size; ++i) text += std::to_string(i) + " ";
  text.resize(size);
  return text;
}

// Returns the bytes of `good`, then always throws.
class FailingSource final : public ByteSource {
 public:
  explicit FailingSource(std::string good) : good_(std::move(good)) {}
  size_t read(std::span<std::byte> out) override {
    const size_t count = good_.read(out);
    if (count == 0) throw std::runtime_error("broken");
    return count;
  }
  const std::string& path() const override { return good_.path(); }

 private:
  MemorySource good_;
};

// Returns its bytes one by one, throws a damage error before each, and another error at the end.
class SpottedSource final : public ByteSource {
 public:
  explicit SpottedSource(std::string good) : good_(std::move(good)) {}
  size_t read(std::span<std::byte> out) override {
    damaged_ = !damaged_;
    if (damaged_) throw Error({.kind = ErrorKind::corrupted, .reason = "spot"});
    const size_t count = good_.read(out.first(1));
    if (count == 0) throw Error({.kind = ErrorKind::io, .reason = "broken"});
    return count;
  }
  const std::string& path() const override { return good_.path(); }

 private:
  MemorySource good_;
  bool damaged_ = false;
};

// An endless stream that counts the bytes read.
class CountingSource final : public ByteSource {
 public:
  explicit CountingSource(std::atomic<size_t>& count) : count_(count) {}
  size_t read(std::span<std::byte> out) override {
    count_ += out.size();
    return out.size();
  }
  const std::string& path() const override { return path_; }

 private:
  std::atomic<size_t>& count_;
  std::string path_ = "endless";
};

TEST(ReadAhead, GivesTheSameBytesWhateverTheSizes) {
  for (const size_t size : {0, 1, 7, 8, 9, 1000}) {
    for (const size_t block : {1, 8, 5000}) {
      for (const size_t step : {1, 3, 8, 64, 2000}) {
        const std::string content = numbers(size);
        ReadAhead source(std::make_unique<MemorySource>(content, "name"),
                         {.block_size = block, .blocks = 2});
        std::string found;
        std::string piece(step, '\0');
        while (const size_t count = source.read(std::as_writable_bytes(std::span(piece)))) {
          found += piece.substr(0, count);
        }
        EXPECT_EQ(found, content);
        EXPECT_EQ(source.read(std::as_writable_bytes(std::span(piece))), 0u);
        EXPECT_EQ(source.path(), "name");
      }
    }
  }
}

TEST(ReadAhead, ATrickleComesThroughByteByByte) {
  ReadAhead source(std::make_unique<TrickleSource>("abc"));
  EXPECT_EQ(as_text(source.next()), "a");
  std::string piece(10, '\0');
  EXPECT_EQ(source.read(std::as_writable_bytes(std::span(piece))), 1u);
  EXPECT_EQ(as_text(read_all(source, 10)), "c");
}

TEST(ReadAhead, PeekedBytesStay) {
  ReadAhead source(std::make_unique<MemorySource>("abcdef"), {.block_size = 4, .blocks = 2});
  EXPECT_EQ(as_text(source.peek()), "abcd");
  EXPECT_EQ(as_text(source.peek()), "abcd");
  std::string one(1, '\0');
  source.read(std::as_writable_bytes(std::span(one)));
  EXPECT_EQ(one, "a");
  EXPECT_EQ(as_text(source.next()), "bcd");
  EXPECT_EQ(as_text(source.next()), "ef");
  EXPECT_TRUE(source.peek().empty());
  EXPECT_TRUE(source.next().empty());
}

TEST(ReadAhead, AFailureComesAfterTheBytesBeforeIt) {
  ReadAhead source(std::make_unique<FailingSource>("abcdef"), {.block_size = 4, .blocks = 3});
  std::string piece(10, '\0');
  EXPECT_EQ(read_fully(source, std::as_writable_bytes(std::span(piece).first(6))), 6u);
  EXPECT_EQ(piece.substr(0, 6), "abcdef");
  EXPECT_THROW(source.read(std::as_writable_bytes(std::span(piece))), std::runtime_error);
  EXPECT_THROW(source.next(), std::runtime_error);
}

TEST(ReadAhead, ReadsOnBehindDamageIfAskedTo) {
  const std::string content = numbers(500);
  for (const bool read_on : {true, false}) {
    ReadAhead source(std::make_unique<SpottedSource>(content),
                     {.block_size = 4, .blocks = 3, .read_on_after_damage = read_on});
    std::string found;
    for (size_t i = 0; read_on && i < content.size(); ++i) {
      EXPECT_EQ(error_of([&] { source.next(); }).reason(), "spot");
      found += as_text(source.next());
    }
    EXPECT_EQ(found, read_on ? content : "");
    EXPECT_EQ(error_of([&] { source.next(); }).reason(), "spot");
    EXPECT_EQ(error_of([&] { source.next(); }).reason(), read_on ? "broken" : "spot");
    EXPECT_EQ(error_of([&] { source.next(); }).reason(), read_on ? "broken" : "spot");
  }
}

TEST(ReadAhead, ReadsNoFurtherThanItsBlocks) {
  std::atomic<size_t> count = 0;
  {
    ReadAhead source(std::make_unique<CountingSource>(count), {.block_size = 10, .blocks = 4});
    source.next();
    source.next();
    while (count < 50) std::this_thread::yield();  // one consumed, four ready or in use
    EXPECT_EQ(count, 50u);
  }
  EXPECT_EQ(count, 50u);
}

TEST(ReadAhead, GoesAwayWithoutBeingReadToItsEnd) {
  std::atomic<size_t> count = 0;
  for (int i = 0; i < 100; ++i) {
    ReadAhead source(std::make_unique<CountingSource>(count), {.block_size = 1, .blocks = 2});
    if (i % 2 == 0) source.next();
  }
}

}  // namespace
}  // namespace recordpipe
