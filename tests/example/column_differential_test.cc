// Compares columns with the results of protobuf's own parser.
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "recordpipe/proto/example.pb.h"
#include "tests/support/bytes.h"
#include "tests/support/column_comparison.h"
#include "tests/support/example_generator.h"
#include "tests/support/mutator.h"

namespace recordpipe {
namespace {

TEST(ColumnDifferential, GeneratedExamples) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const std::string bytes = ExampleGenerator(seed).example();
    ASSERT_EQ(example_column_difference(as_bytes(bytes)), "") << to_hex(bytes);
  }
}

TEST(ColumnDifferential, GeneratedSequenceExamples) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const std::string bytes = ExampleGenerator(seed).sequence_example();
    ASSERT_TRUE(proto::SequenceExample().ParseFromString(bytes)) << "seed " << seed;
    ASSERT_EQ(sequence_column_difference(as_bytes(bytes)), "") << to_hex(bytes);
  }
}

TEST(ColumnDifferential, DamagedMessages) {
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  size_t accepted = 0;
  std::vector<std::pair<std::string, std::string>> messages;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    ExampleGenerator generator(seed);
    std::string first = generator.sequence_example();
    messages.emplace_back(std::move(first), generator.sequence_example());
  }
  constexpr uint64_t kRounds = 5000;
  for (uint64_t seed = 0; seed < kRounds; ++seed) {
    const auto& [whole, other] = messages[seed % messages.size()];
    const std::string bytes = Mutator(seed).mutate(whole, other);
    ASSERT_EQ(example_column_difference(as_bytes(bytes)), "") << to_hex(bytes);
    ASSERT_EQ(sequence_column_difference(as_bytes(bytes)), "") << to_hex(bytes);
    accepted += proto::SequenceExample().ParseFromString(bytes) ? 1 : 0;
  }
  // Both outcomes must be frequent for the comparison to be meaningful.
  EXPECT_GT(accepted, kRounds / 20);
  EXPECT_LT(accepted, kRounds * 19 / 20);
}

TEST(ColumnDifferential, EveryCut) {
  ExampleGenerator generator(7);
  std::string bytes;
  while (bytes.size() < 500) bytes = generator.sequence_example();
  for (size_t size = 0; size <= bytes.size(); ++size) {
    ASSERT_EQ(example_column_difference(as_bytes(bytes).first(size)), "") << size;
    ASSERT_EQ(sequence_column_difference(as_bytes(bytes).first(size)), "") << size;
  }
}

}  // namespace
}  // namespace recordpipe
