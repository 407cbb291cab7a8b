// Tests the cache in memory and in a file: values are computed once and stay the same, and a cache
// file is never incomplete.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/io/atomic_file.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_writer.h"
#include "tests/pipeline/collect.h"
#include "tests/pipeline/naive/pipeline.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

uint64_t draw(uint64_t value, Random& random) { return value * 31 + random.next64(); }

class Cache : public ::testing::Test {
 protected:
  std::string path(const std::string& name = "cache") const {
    return directory_.path() + "/" + name;
  }
  std::vector<std::string> files() const { return posix_file_system().list(directory_.path()); }

  Dataset<uint64_t> counted(int n = 100) {
    return from_vector(numbers(n))
        .map([this](int x) {
          ++computed_;
          return static_cast<uint64_t>(x);
        })
        .with_options({.threads = 3, .chunk_size = 8});
  }

  TemporaryDirectory directory_;
  std::atomic<int> computed_ = 0;
};

TEST_F(Cache, ComputesOnce) {
  EXPECT_EQ(collect(counted().cache().repeat(3)).size(), 300u);
  EXPECT_EQ(computed_, 100);
  EXPECT_EQ(collect(counted().cache(path()).repeat(3)).size(), 300u);
  EXPECT_EQ(computed_, 200);
  EXPECT_EQ(collect(counted().cache(path())).size(), 100u);
  EXPECT_EQ(computed_, 200) << "other iterators use the file too";
}

TEST_F(Cache, FreezesWhatIsRandomBeforeItAndNotAfter) {
  const auto chain = [&](const auto& source, const auto& cached) {
    return cached(source.map_with_random(1, draw).shuffle(30, 2).repeat(2))
        .shuffle(40, 3)
        .map_with_random(1, draw)
        .repeat(3);
  };
  const auto in_memory = [](const auto& source) { return source.cache(); };
  const auto in_file = [&](const auto& source) { return source.cache(path()); };
  const auto values = counted().take(50);
  const auto twin =
      naive::from_vector(numbers(50)).map([](int x) { return static_cast<uint64_t>(x); });
  const auto expected = chain(twin, in_memory).values();
  EXPECT_EQ(std::set(expected.begin(), expected.end()).size(), 300u);
  EXPECT_TRUE(collect(chain(values, in_memory)) == expected);
  EXPECT_TRUE(collect(chain(values, in_file)) == expected) << "while it is written";
  EXPECT_TRUE(collect(chain(values, in_file)) == expected) << "from the file";
}

TEST_F(Cache, APassThatIsGivenUpLosesNothingAndLeavesNoFile) {
  const auto expected = collect(counted().take(40).repeat(3));
  EXPECT_TRUE(collect(counted().cache().take(40).repeat(3)) == expected);
  computed_ = 0;
  EXPECT_TRUE(collect(counted().cache(path()).take(40).repeat(3)) == expected);
  EXPECT_THAT(files(), testing::IsEmpty());
  {
    auto iterator = counted().cache(path()).iterate();
    for (int i = 0; i < 60; ++i) iterator.next();
  }
  EXPECT_THAT(files(), testing::IsEmpty());
}

TEST_F(Cache, SavesAndRestoresAtEveryElement) {
  const auto source = [&] {
    return from_vector(numbers(30)).map([](int x) { return x; }).shuffle(10, 1);
  };
  const auto check = [&](const auto& make, bool forget) {
    const auto expected = collect(make());
    for (size_t at = 0; at <= expected.size(); ++at) {
      if (forget) posix_file_system().remove(path());
      auto saving = make().iterate();
      for (size_t i = 0; i < at; ++i) saving.next();
      const std::string state = saving.state();
      auto restored = make().with_options({.threads = 1 + at % 3, .chunk_size = 1 + at}).iterate();
      restored.restore(state);
      std::vector<int> rest;
      while (const int* x = restored.next()) rest.push_back(*x);
      ASSERT_TRUE(std::equal(rest.begin(), rest.end(), expected.end() - rest.size()) &&
                  rest.size() == expected.size() - at)
          << "saved after " << at;
    }
  };
  check([&] { return source().cache().shuffle(7, 2).repeat(3); }, false);
  check([&] { return source().cache(path()).shuffle(7, 2).repeat(3); }, false);
  check([&] { return source().cache(path()).shuffle(7, 2).repeat(3).prefetch(2); }, true);
}

TEST_F(Cache, InMemoryKeepsToItsLimit) {
  const auto lines = from_vector(numbers(100)).map([](int) { return std::string(1000, 'x'); });
  EXPECT_EQ(collect(lines.cache({.max_bytes = 200'000})).size(), 100u);
  auto iterator = lines.cache({.max_bytes = 50'000}).iterate();
  int delivered = 0;
  const Error error = error_of([&] {
    while (iterator.next()) ++delivered;
  });
  EXPECT_EQ(error.kind(), ErrorKind::limit_exceeded);
  EXPECT_GT(delivered, 40);
  EXPECT_LT(delivered, 50);
}

TEST_F(Cache, AnElementThatFailsFailsInEveryPassAndLeavesNoFile) {
  const auto bad = counted().map([](uint64_t x) {
    if (x == 70) throw Error({.kind = ErrorKind::corrupted, .reason = "seventy"});
    return x;
  });
  EXPECT_EQ(collect(bad.cache().ignore_errors().repeat(2)).size(), 198u);
  EXPECT_EQ(collect(bad.cache(path()).ignore_errors().repeat(2)).size(), 198u);
  EXPECT_THAT(files(), testing::IsEmpty());
  auto iterator = bad.cache(path()).iterate();
  for (int i = 0; i < 70; ++i) ASSERT_NE(iterator.next(), nullptr);
  EXPECT_EQ(error_of([&] { iterator.next(); }).reason(), "seventy");
  EXPECT_EQ(error_of([&] { iterator.next(); }).reason(), "seventy");
}

TEST_F(Cache, WhatCantBeWrittenIsAnErrorAtItsPlace) {
  struct Fussy : CacheCodec<uint64_t> {
    void encode(uint64_t value, std::string& out) const {
      if (value == 70) throw std::runtime_error("no seventy");
      CacheCodec<uint64_t>::encode(value, out);
    }
  };
  auto iterator = counted().cache(path(), Fussy{}).iterate();
  for (int i = 0; i < 70; ++i) ASSERT_NE(iterator.next(), nullptr);
  EXPECT_THROW(iterator.next(), std::runtime_error);
  EXPECT_THROW(iterator.next(), std::runtime_error);
  EXPECT_THAT(files(), testing::IsEmpty());
  auto nowhere = counted().cache(path("no/such/folder")).iterate();
  EXPECT_EQ(error_of([&] { nowhere.next(); }).kind(), ErrorKind::not_found);
}

TEST_F(Cache, AFileOfAnotherPipelineIsRefusedByName) {
  collect(counted().shuffle(5, 1).cache(path()));
  const Error plan = error_of([&] { collect(counted().shuffle(5, 2).cache(path())); });
  EXPECT_EQ(plan.kind(), ErrorKind::invalid_argument);
  EXPECT_EQ(plan.path(), path());
  EXPECT_THAT(plan.reason(), HasSubstr("seed=2"));
  const auto text = counted().map([](uint64_t x) { return std::to_string(x); });
  collect(text.cache(path("text")));
  const Error codec = error_of([&] {
    collect(counted().map([](uint64_t x) { return static_cast<int>(x); }).cache(path("text")));
  });
  EXPECT_THAT(codec.reason(), HasSubstr("are string as string, not int32 as 4 bytes"));
}

struct Pixel {
  float value = 0;
};
enum class Level : int32_t {};

TEST_F(Cache, AFileOfAnotherTypeIsRefusedByNameThoughItIsAsLarge) {
  const auto refusal = [&](auto written, auto wanted) {
    posix_file_system().remove(path());
    collect(from_vector(std::vector(3, written)).cache(path()));
    const Error error =
        error_of([&] { collect(from_vector(std::vector(3, wanted)).cache(path())); });
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_EQ(error.path(), path());
    return error.reason();
  };
  EXPECT_THAT(refusal(int32_t{1}, 1.0F), AllOf(HasSubstr("int32"), HasSubstr("float")));
  EXPECT_THAT(refusal(int32_t{1}, uint32_t{1}), AllOf(HasSubstr(" int32"), HasSubstr("uint32")));
  EXPECT_THAT(refusal(int64_t{1}, 1.0), AllOf(HasSubstr("int64"), HasSubstr("double")));
  EXPECT_THAT(refusal(1.0F, Pixel{}), AllOf(HasSubstr("float"), HasSubstr("Pixel")));
  EXPECT_THAT(refusal(Level{}, int32_t{1}), AllOf(HasSubstr("Level"), HasSubstr("int32")));
  EXPECT_THAT(refusal(std::array<int32_t, 2>{}, std::array<float, 2>{}),
              AllOf(HasSubstr("int32"), HasSubstr("float")));
  EXPECT_THAT(refusal(std::vector<int32_t>{1}, std::vector<float>{1}),
              AllOf(HasSubstr("int32"), HasSubstr("float")));
  EXPECT_THAT(refusal(std::vector<std::vector<int32_t>>{{1}}, std::vector<std::vector<float>>{{1}}),
              AllOf(HasSubstr("int32"), HasSubstr("float")));
  EXPECT_THAT(refusal(std::vector<std::string>{"a"}, std::string("a")), HasSubstr("string"));
}

// A custom codec for any tuple of numbers. Its name doesn't contain the element types.
struct Numbers {
  std::string name() const { return "numbers"; }
  template <class... Ts>
  void encode(const std::tuple<Ts...>& value, std::string& out) const {
    std::apply([&](auto... each) { ((out += std::to_string(each) + " "), ...); }, value);
  }
  std::tuple<int32_t, int32_t> decode(const Record&) const { return {}; }
};
struct OtherNumbers : Numbers {
  std::tuple<int32_t, float> decode(const Record&) const { return {}; }
};

TEST_F(Cache, AFileOfAnotherTupleIsRefusedThoughItsCodecHasTheSameName) {
  collect(from_vector(std::vector<std::tuple<int32_t, int32_t>>(3)).cache(path(), Numbers{}));
  const Error error = error_of([&] {
    collect(from_vector(std::vector<std::tuple<int32_t, float>>(3)).cache(path(), OtherNumbers{}));
  });
  EXPECT_THAT(error.reason(), AllOf(HasSubstr("<int32, int32>"), HasSubstr("<int32, float>")));
}

TEST_F(Cache, AFileOfChangedSourcesIsRefusedByName) {
  const auto write = [&](const std::string& text) {
    RecordWriter writer(posix_file_system(), path("source"));
    writer.write(as_bytes(text));
    writer.close();
  };
  write("one");
  collect(tfrecord_files({path("source")}).cache(path()));
  write("two");
  const Error error = error_of([&] { collect(tfrecord_files({path("source")}).cache(path())); });
  EXPECT_EQ(error.path(), path());
  EXPECT_THAT(error.reason(), HasSubstr(path("source")));
  EXPECT_THAT(error.reason(), HasSubstr("has changed since"));
}

TEST_F(Cache, AFileOfChangedInputsIsRefusedByName) {
  const auto write = [&](const std::string& name, const std::string& text) {
    RecordWriter writer(posix_file_system(), path(name));
    writer.write(as_bytes(text));
    writer.close();
  };
  for (const char* name : {"one", "two", "three"}) write(name, name);
  const auto cached = from_vector(std::vector<std::string>{"one", "two", "three"})
                          .interleave(
                              [this](const std::string& name) {
                                return tfrecord_files({path(name)}).map([](const Record& record) {
                                  return as_text(record.data);
                                });
                              },
                              2)
                          .cache(path());
  const auto elements = collect(cached);
  EXPECT_EQ(collect(cached), elements);
  write("two", "2nd");
  const Error error = error_of([&] { collect(cached); });
  EXPECT_EQ(error.path(), path());
  EXPECT_THAT(error.reason(), HasSubstr(path("two")));
  EXPECT_THAT(error.reason(), HasSubstr("has changed since"));
  write("two", "two");
  EXPECT_EQ(collect(cached), elements);
}

TEST_F(Cache, AFileThatIsDamagedOrCutIsRefused) {
  collect(counted().cache(path()));
  const auto bytes = read_all(*posix_file_system().open_source(path()), 1 << 20);
  const size_t tail = 12 + 21 + 8 + 4;  // the last record
  for (const size_t size :
       {size_t{0}, size_t{40}, bytes.size() / 2, bytes.size() - tail, bytes.size() - 1}) {
    AtomicFile file(posix_file_system(), path());
    file.write(std::span(bytes).first(size));
    file.commit();
    const Error error = error_of([&] { collect(counted().cache(path())); });
    EXPECT_EQ(error.path(), path()) << error.what();
  }
}

TEST_F(Cache, AtTheSameTimeOneWritesAndAllAreServed) {
  const auto expected = collect(counted(3000).repeat(2));
  std::vector<std::jthread> readers;
  std::atomic<int> same = 0;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back(
        [&] { same += collect(counted(3000).cache(path()).repeat(2)) == expected; });
  }
  readers.clear();
  EXPECT_EQ(same, 4);
  EXPECT_THAT(files(), testing::ElementsAre("cache"));
  computed_ = 0;
  EXPECT_TRUE(collect(counted(3000).cache(path()).repeat(2)) == expected);
  EXPECT_EQ(computed_, 0);
}

template <class T>
void expect_comes_back(const std::string& path, const std::vector<T>& values) {
  const auto dataset = from_vector(values).cache(path).repeat(2);
  for (int run = 0; run < 2; ++run) {
    std::vector<T> twice = values;
    twice.insert(twice.end(), values.begin(), values.end());
    EXPECT_TRUE(collect(dataset) == twice);
  }
}

struct Point {
  int x = 0;
  double y = 0;
  bool operator==(const Point&) const = default;
};

TEST_F(Cache, WritesEveryKindOfElement) {
  using namespace std::string_literals;
  expect_comes_back<std::string>(path("strings"), {"", "one", "\0\n"s});
  expect_comes_back<Point>(path("structs"), {{1, 2}, {}, {3, -4}});
  expect_comes_back<std::vector<float>>(path("vectors"), {{}, {1, 2}, {3}});
  expect_comes_back<std::vector<std::string>>(path("nested"), {{}, {"", "a"}, {"bc"}});
  expect_comes_back<std::vector<std::vector<int>>>(path("deep"), {{{1}, {}}, {}, {{2, 3}}});
  expect_comes_back<int>(path("none"), {});
}

TEST_F(Cache, WritesRecordsAndTakesACodecOfYourOwn) {
  {
    RecordWriter writer(posix_file_system(), path("source"), {.compression = Compression::gzip});
    for (int i = 0; i < 50; ++i) writer.write(as_bytes("record " + std::to_string(i)));
    writer.close();
  }
  const auto text = [](const Record& record) { return as_text(record.data); };
  const auto records = tfrecord_files({path("source")});
  const auto cached = records.cache(path()).map(text);
  EXPECT_TRUE(collect(cached) == collect(records.map(text)));
  EXPECT_TRUE(collect(cached) == collect(records.map(text)));

  struct Hex {
    std::string name() const { return "hexadecimal"; }
    void encode(const std::pair<int, int>& value, std::string& out) const {
      out += std::to_string(value.first) + " " + std::to_string(value.second);
    }
    std::pair<int, int> decode(const Record& stored) const {
      std::pair<int, int> value;
      if (std::sscanf(as_text(stored.data).c_str(), "%d %d", &value.first, &value.second) != 2) {
        fail_decoding(stored);
      }
      return value;
    }
  };
  const auto pairs = from_vector(numbers(20)).map([](int x) { return std::pair(x, -x); });
  for (int run = 0; run < 2; ++run) {
    EXPECT_TRUE(collect(pairs.cache(path("pairs"), Hex{})) == collect(pairs));
  }
}

}  // namespace
}  // namespace recordpipe
