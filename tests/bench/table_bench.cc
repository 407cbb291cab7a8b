// Measures the speed of decoding tables and sequences into columns, compared with a bare loop.
//
// usage: table_bench
//
// One thread; the records are in memory, in random order, and the batches of 1,024 are
// reused. Cases alternate with their floors; figures are medians of the rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "recordpipe/example/parse_example.h"
#include "recordpipe/example/parse_sequence_example.h"
#include "tests/bench/table_floor.h"
#include "tests/bench/table_records.h"

namespace recordpipe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kRounds = 9;
constexpr size_t kBatchSize = 1024;
constexpr size_t kRows = 100 * kBatchSize;

// Keeps the compiler from removing the work.
volatile size_t sink;

// The records in another order than in memory, as a shuffled pipeline reads them.
class Shuffled {
 public:
  explicit Shuffled(std::vector<std::string> records) {
    for (const std::string& record : records) bytes_ += record;
    size_t at = 0;
    for (const std::string& record : records) {
      views_.push_back(std::string_view(bytes_).substr(at, record.size()));
      at += record.size();
    }
    std::ranges::shuffle(views_, std::mt19937_64(5));
    for (const std::string_view view : views_) {
      records_.push_back({.data = std::as_bytes(std::span(view))});
    }
  }
  std::span<const std::string_view> views() const { return views_; }
  std::span<const Record> records() const { return records_; }

 private:
  std::string bytes_;
  std::vector<std::string_view> views_;
  std::vector<Record> records_;
};

template <class T, class Work>
double seconds(std::span<const T> all, const Work& work) {
  const Clock::time_point start = Clock::now();
  for (size_t first = 0; first < all.size(); first += kBatchSize) {
    work(all.subspan(first, std::min(kBatchSize, all.size() - first)));
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// floor: called with batches of views; may be empty. ours: called with batches of records.
void compare(const std::string& what, const Shuffled& records, const std::string& goal,
             const std::function<void(std::span<const std::string_view>)>& floor,
             const std::function<void(std::span<const Record>)>& ours) {
  std::vector<double> measured, floors, ratios;
  for (size_t round = 0; round < kRounds + 1; ++round) {
    const double floor_seconds = floor ? seconds(records.views(), floor) : 0;
    const double our_seconds = seconds(records.records(), ours);
    if (round == 0) continue;  // warm-up
    floors.push_back(floor_seconds);
    measured.push_back(our_seconds);
    ratios.push_back(floor_seconds / our_seconds);
  }
  const auto rows = 1e-6 * static_cast<double>(records.records().size());
  fmt::print("  {:<46} {:>8.3f} M/s", what, rows / median(measured));
  if (floor) {
    fmt::print(", floor {:>8.3f}, ratio {:.2f} (goal: {})", rows / median(floors), median(ratios),
               goal);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

ExampleSchema table_schema() {
  ExampleSchema schema = {{"history", Ragged{FeatureKind::int64s}},
                          {"label", FixedLen{FeatureKind::int64s}}};
  for (size_t i = 0; i < kTableFloats; ++i) {
    schema.emplace(fmt::format("dense_{:02}", i), FixedLen{FeatureKind::floats});
  }
  for (size_t i = 0; i < kTableCategories; ++i) {
    schema.emplace(fmt::format("category_{:02}", i), FixedLen{FeatureKind::int64s});
  }
  return schema;
}

void compare_examples(const std::string& what, const Shuffled& records, const ExampleSchema& schema,
                      TableFloor* floor = nullptr) {
  const ExampleCollator collator(schema);
  ExampleBatch batch;
  const auto bare = [&](std::span<const std::string_view> rows) {
    if (!floor->read(rows)) throw std::runtime_error("a key at another place");
    sink = floor->values();
  };
  compare(what, records, "at least 0.7",
          floor ? std::function<void(std::span<const std::string_view>)>(bare) : nullptr,
          [&](std::span<const Record> rows) {
            batch = parse_example(rows, collator, std::move(batch));
            sink = batch.size();
          });
}

void compare_sequences() {
  const Shuffled records(make_sequences(kRows / 4));
  const SequenceExampleCollator collator(
      {.context = {{"id", FixedLen{FeatureKind::int64s}}},
       .feature_lists = {{"action", FixedLenSequence{FeatureKind::floats, {kSequenceAction}}},
                         {"reward", FixedLenSequence{FeatureKind::floats}},
                         {"token", FixedLenSequence{FeatureKind::int64s}}}});
  SequenceExampleBatch batch;
  SequenceFloor floor;
  compare(
      fmt::format("SequenceExamples of {} steps, 3 lists", kSequenceSteps), records, "at least 0.7",
      [&](std::span<const std::string_view> rows) {
        floor.read(rows);
        sink = floor.values();
      },
      [&](std::span<const Record> rows) {
        batch = parse_sequence_example(rows, collator, std::move(batch));
        sink = batch.size();
      });
}

void run() {
  {
    const Shuffled table(make_table(kRows, TableEncoding::packed));
    TableFloor floor(table.views().front());
    compare_examples("a table of 41 features", table, table_schema(), &floor);
  }
  compare_sequences();
  compare_examples("the table, lists not packed",
                   Shuffled(make_table(kRows, TableEncoding::unpacked)), table_schema());
  compare_examples("the table, features in random order",
                   Shuffled(make_table(kRows, TableEncoding::random_order)), table_schema());
  compare_examples("3 of 1,000 features", Shuffled(make_wide_table(kRows / 20)),
                   {{"feature_100", FixedLen{FeatureKind::int64s}},
                    {"feature_500", FixedLen{FeatureKind::int64s}},
                    {"feature_900", FixedLen{FeatureKind::int64s}}});
}

}  // namespace
}  // namespace recordpipe

int main() {
  try {
    recordpipe::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "table_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
