// Feature statistics as a table.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/tfrecord/text/schema_text.h"

namespace recordpipe {
namespace {

std::string cell(double number) { return fmt::format("{}", number); }
std::string cell(float number) { return fmt::format("{}", number); }
std::string cell(int64_t number) { return std::to_string(number); }

// The cells of a row that follow from its values; empty if there are none.
struct StatsCells {
  std::string min = {};
  std::string max = {};
  std::string mean = {};
  std::string sd = {};
  std::vector<std::string> quantiles = std::vector<std::string>(kQuantilesShown.size());
};

StatsCells cells_of(const Moments& moments, const Distribution& distribution, std::string min,
                    std::string max) {
  StatsCells cells = {.min = std::move(min), .max = std::move(max)};
  if (moments.count() > 0) {
    cells.mean = cell(moments.mean());
    cells.sd = cell(moments.standard_deviation());
  }
  if (distribution.count() > 0) {
    std::ranges::transform(distribution.quantiles(kQuantilesShown), cells.quantiles.begin(),
                           [](double quantile) { return cell(quantile); });
  }
  return cells;
}

// Empty if there may be more.
template <typename Value>
std::string distinct(const FrequentValues<Value>& frequent) {
  return frequent.exact() ? std::to_string(frequent.distinct()) : "";
}

void add_row(TextTable& table, std::string_view name, std::string_view kind, uint64_t count,
             uint64_t nans, const StatsCells& cells, std::string distinct) {
  std::vector<std::string> row = {std::string(name),    std::string(kind), std::to_string(count),
                                  std::to_string(nans), cells.min,         cells.max,
                                  cells.mean,           cells.sd};
  row.insert(row.end(), cells.quantiles.begin(), cells.quantiles.end());
  row.push_back(std::move(distinct));
  table.add(std::move(row));
}

template <typename Number>
void add_numbers(TextTable& table, std::string_view name, std::string_view kind,
                 const NumberStatistics<Number>& numbers) {
  if (numbers.count == 0) return;
  const bool any = numbers.count > numbers.nans;
  add_row(table, name, kind, numbers.count, numbers.nans,
          cells_of(numbers.moments, numbers.distribution, any ? cell(numbers.min) : "",
                   any ? cell(numbers.max) : ""),
          distinct(numbers.frequent));
}

void add_values(TextTable& table, std::string_view name, const ValueStatistics& values) {
  add_numbers(table, name, "int64", values.int64s);
  add_numbers(table, name, "float", values.floats);
  const BytesStatistics& bytes = values.bytes;
  if (bytes.count == 0) return;
  add_row(table, name, "bytes", bytes.count, 0,
          cells_of(bytes.lengths.moments, bytes.lengths.distribution,
                   cell(bytes.lengths.distribution.min()), cell(bytes.lengths.distribution.max())),
          bytes.long_values == 0 ? distinct(bytes.frequent) : "");
}

}  // namespace

TextTable stats_table(const FeatureStatistics& statistics) {
  std::vector<std::string> columns = {"feature", "kind", "count", "nans",
                                      "min",     "max",  "mean",  "sd"};
  for (const double quantile : kQuantilesShown) {
    columns.push_back(fmt::format("p{}", std::lround(100 * quantile)));
  }
  columns.emplace_back("distinct");
  TextTable table(std::vector<Align>(columns.size(), Align::left));
  table.add(std::move(columns));
  for (const auto& [name, values] : statistics.features) add_values(table, name, values);
  for (const auto& [name, values] : statistics.feature_lists) add_values(table, name, values);
  return table;
}

}  // namespace recordpipe
