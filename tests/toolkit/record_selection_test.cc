// Tests that selections yield the same records on any number of threads, using only the public
// headers.
#include "recordpipe/toolkit/record_selection.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/toolkit/feature_edit.h"
#include "recordpipe/toolkit/where.h"

namespace recordpipe {
namespace {

using testing::ElementsAre;

// Returns Examples {"id": [i], "name": ["..."]}, of which some are longer than a block.
std::vector<std::string> numbered_examples(int64_t count) {
  std::vector<std::string> records;
  for (int64_t i = 0; i < count; ++i) {
    records.push_back(ExampleBuilder()
                          .set_int64("id", i)
                          .set_bytes("name", std::string(i % 100 == 7 ? 4'000'000 : 500, 'x'))
                          .serialize());
  }
  return records;
}

struct Selected {
  std::vector<int64_t> ids;
  std::vector<std::string> bytes;
  SelectionReport report;
};

std::optional<int64_t> id_of(std::span<const std::byte> record) {
  MessageView message;
  message.read(record);
  const FeatureView* const id = message.find_feature("id");
  return id == nullptr ? std::nullopt : id->single_int64();
}

Selected select(const std::vector<std::string>& records, const RecordSelection& selection) {
  size_t next = 0;
  Selected selected;
  selected.report = select_records(
      [&]() -> std::optional<Record> {
        if (next == records.size()) return std::nullopt;
        const std::string& record = records[next];
        return Record{.data = std::as_bytes(std::span(record)), .offset = next++, .path = "a"};
      },
      selection,
      [&](RecordPieces pieces) {
        std::string bytes;
        for (const auto piece : pieces) {
          bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
        }
        if (const auto id = id_of(std::as_bytes(std::span(bytes)))) selected.ids.push_back(*id);
        selected.bytes.push_back(std::move(bytes));
      });
  return selected;
}

TEST(RecordSelection, WhereAndLimitOnAnyNumberOfThreads) {
  const auto records = numbered_examples(1000);
  for (const size_t threads : {1, 2, 5}) {
    const Selected selected = select(
        records, {.where = Where("id >= 5 and id not in [8]"), .limit = 5, .threads = threads});
    EXPECT_THAT(selected.ids, ElementsAre(5, 6, 7, 9, 10));
    EXPECT_EQ(selected.bytes[2], records[7]);
    EXPECT_EQ(selected.report.taken, 5u);
    EXPECT_FALSE(selected.report.looked_at_all);
  }
}

TEST(RecordSelection, ASampleIsAFunctionOfTheSeed) {
  const auto records = numbered_examples(1000);
  const auto sample = [&](uint64_t seed, size_t threads) {
    return select(records,
                  {.where = Where("id < 500"), .fraction = 0.5, .seed = seed, .threads = threads})
        .ids;
  };
  EXPECT_NEAR(double(sample(7, 1).size()), 250, 60);
  EXPECT_EQ(sample(7, 1), sample(7, 4));
  EXPECT_NE(sample(7, 1), sample(8, 1));
}

TEST(RecordSelection, EditsTellWhichNamesThereAre) {
  const auto records = numbered_examples(20);
  const Selected selected =
      select(records, {.where = Where("id > 17"), .edit = {.drop = {"name", "nme"}}});
  EXPECT_THAT(selected.ids, ElementsAre(18, 19));
  EXPECT_EQ(selected.bytes[0], ExampleBuilder().set_int64("id", 18).serialize());
  EXPECT_EQ(selected.report.found, FeatureNames{"name"});
  try {
    (void)require_found({"name", "nme"}, selected.report.found, selected.report.present,
                        selected.report.looked_at_all);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "no record has a feature named nme; there are name, id; did you mean name?");
  }
}

TEST(RecordSelection, WhatCannotBeEditedIsNamed) {
  std::vector<std::string> records = numbered_examples(3);
  records.emplace_back("no message");
  try {
    select(records, {.edit = {.drop = {"name"}}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.path(), "a");
    EXPECT_EQ(error.offset(), 3u);
  }
}

TEST(RecordSelection, AnUnknownFeatureIsAnError) {
  EXPECT_THROW(select(numbered_examples(3), {.where = Where("idd == 3")}), Error);
}

TEST(RecordSelection, ExactSamples) {
  ExactSample sample(7, 10, 1000);
  size_t taken = 0;
  for (int i = 0; i < 1000; ++i) taken += sample.take_next() ? 1 : 0;
  EXPECT_EQ(taken, 10u);
  EXPECT_FALSE(sample.take_next());
}

// With a limit, the first matches are taken in order. Without one, records may be matched in any
// order.
TEST(RecordFilter, GivesTheFirstThatMatch) {
  const auto records = numbered_examples(6);
  size_t next = 0;
  RecordFilter filter(Where("id != 1"), 3);
  std::vector<int64_t> ids;
  while (const auto record = filter.next([&]() -> std::optional<Record> {
    if (next == records.size()) return std::nullopt;
    return Record{.data = std::as_bytes(std::span(records[next++]))};
  })) {
    ids.push_back(*id_of(record->data));
  }
  EXPECT_THAT(ids, ElementsAre(0, 2, 3));
  EXPECT_TRUE(filter.is_full());
}

}  // namespace
}  // namespace recordpipe
