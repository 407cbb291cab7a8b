// Tests elements whose constructors, copies or swaps throw: no element is lost or destroyed twice,
// and wherever possible the error takes the place of the element.
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataset/pipeline/execute/element_buffer.h"
#include "dataset/pipeline/execute/value_store.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/from_vector.h"
#include "recordpipe/pipeline/internal/element_ops.h"
#include "tests/pipeline/collect.h"

namespace recordpipe::internal {
namespace {

// Throws once, when constructions_left or swaps_left is counted down to 0; never if it starts at 0.
class Throwing {
 public:
  Throwing() {
    count_down(constructions_left);
    add();
  }
  Throwing(Throwing&& other) noexcept : value(other.value) { add(); }
  Throwing& operator=(Throwing&& other) noexcept {
    value = other.value;
    return *this;
  }
  ~Throwing() { EXPECT_EQ(alive.erase(this), 1u) << "destroyed twice"; }
  friend void swap(Throwing& a, Throwing& b) {
    count_down(swaps_left);
    std::swap(a.value, b.value);
  }

  inline static int constructions_left = 0;
  inline static int swaps_left = 0;
  inline static std::set<const void*> alive;
  int value = 0;

 private:
  static void count_down(int& left) {
    if (left > 0 && --left == 0) throw std::runtime_error("as told");
  }
  void add() { EXPECT_TRUE(alive.insert(this).second); }
};

class ThrowingValues : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(Throwing::alive.size(), 0u) << "not destroyed"; }

  static int& value(ElementBuffer& buffer, size_t i) {
    return static_cast<Throwing*>(buffer.at(i))->value;
  }

  const ElementOps& ops_ = element_ops<Throwing>();
};

TEST_F(ThrowingValues, ABufferThatCantBeMadeLeavesNothing) {
  Throwing::constructions_left = 3;
  EXPECT_THROW(ElementBuffer(ops_, 5), std::runtime_error);
  EXPECT_EQ(Throwing::alive.size(), 0u);
}

TEST_F(ThrowingValues, ABufferThatCantGrowStaysAsItWas) {
  ElementBuffer buffer(ops_, 3);
  for (int i = 0; i < 3; ++i) value(buffer, static_cast<size_t>(i)) = i;
  Throwing::constructions_left = 4;
  EXPECT_THROW(buffer.grow(8), std::runtime_error);
  EXPECT_EQ(buffer.size(), 3u);
  EXPECT_EQ(Throwing::alive.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(value(buffer, static_cast<size_t>(i)), i);
  Throwing::swaps_left = 2;
  EXPECT_THROW(buffer.grow(8), std::runtime_error);
  EXPECT_EQ(buffer.size(), 3u);
  EXPECT_EQ(Throwing::alive.size(), 3u);
}

TEST_F(ThrowingValues, AStoreGivesUpValuesThatHaveNoSuccessor) {
  ValueStore store(ops_);
  std::vector<Ticket> tickets;
  {
    ElementBuffer one(ops_, 1);
    for (int i = 0; i < 5; ++i) {
      value(one, 0) = i;
      tickets.push_back({{}, store.put(one.data())});
    }
  }
  for (int n = 1; n <= 3; ++n) {
    Throwing::constructions_left = n;
    store.discard(std::span(tickets).first(1));
    tickets.erase(tickets.begin());
  }
  Throwing::constructions_left = 0;
  ElementBuffer rest(ops_, 2);
  EXPECT_TRUE(store.take(tickets, rest.data()).empty());
  EXPECT_EQ(value(rest, 0), 3);
  EXPECT_EQ(value(rest, 1), 4);
}

struct Uncopied {
  int value = 0;
  Uncopied() = default;
  explicit Uncopied(int number) : value(number) {}
  Uncopied(Uncopied&&) noexcept = default;
  Uncopied& operator=(Uncopied&&) noexcept = default;
  Uncopied(const Uncopied& other) { *this = other; }
  Uncopied& operator=(const Uncopied& other) {
    if (other.value == 7) throw Error({.kind = ErrorKind::corrupted, .reason = "seven"});
    value = other.value;
    return *this;
  }
};

TEST(ThrowingCopies, MakeAWindowFail) {
  const auto windows = from_vector(numbers(10))
                           .map([](int n) { return Uncopied(n); })
                           .window(3, 2)
                           .ignore_errors()
                           .map([](const std::vector<Uncopied>& window) {
                             return std::pair(window.front().value, window.size());
                           });
  using Window = std::pair<int, size_t>;
  for (const size_t threads : {1, 3}) {
    EXPECT_THAT(collect(windows.with_options({.threads = threads})),
                testing::ElementsAre(Window(0, 3), Window(2, 3), Window(4, 3), Window(8, 2)));
  }
}

}  // namespace
}  // namespace recordpipe::internal
