#include "tools/tfrecord/stats_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dataset/base/error.h"
#include "dataset/base/parameter.h"
#include "tools/tfrecord/json_text.h"
#include "tools/tfrecord/schema_text.h"
#include "tools/tfrecord/text_table.h"

namespace recordpipe {
namespace {

std::string number_text(int64_t value) { return std::to_string(value); }
std::string number_text(float value) { return shortest_text(value); }

// A block for each bin, as high as it is full; one that has anything in it is seen.
std::string bars(const std::vector<uint64_t>& bins) {
  constexpr std::array<std::string_view, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const uint64_t most = std::ranges::max(bins);
  std::string out;
  for (const uint64_t bin : bins) {
    const double part = most > 0 ? static_cast<double>(bin) / static_cast<double>(most) : 0;
    const auto height = static_cast<size_t>(part * 8 + 0.5);
    out += kBlocks[bin > 0 ? std::max<size_t>(height, 1) : 0];
  }
  return out;
}

std::string distribution_text(const Distribution& distribution) {
  if (distribution.min() == distribution.max()) return "";
  const auto quantiles = distribution.quantiles(kQuantilesShown);
  std::string out = "    quantiles";
  for (size_t i = 0; i < quantiles.size(); ++i) {
    out += fmt::format("{} {:g} %: {}", i > 0 ? "," : "", 100 * kQuantilesShown[i],
                       short_number(quantiles[i]));
  }
  out += distribution.exact() ? "\n"
                              : fmt::format(" (within {:.2g} %)\n", 100 * distribution.within());
  if (distribution.finite() > 0 && distribution.finite_min() < distribution.finite_max()) {
    out += fmt::format("    histogram {} |{}| {}\n", short_number(distribution.finite_min()),
                       bars(distribution.histogram(kHistogramBins)),
                       short_number(distribution.finite_max()));
  }
  return out;
}

template <typename Value, typename Text>
std::string frequent_text(const FrequentValues<Value>& frequent, uint64_t count, Text text) {
  if (frequent.distinct() == 0) return "";
  std::string out;
  if (frequent.exact()) {
    out = frequent.distinct() == 1
              ? std::string("    always ")
              : fmt::format("    {} different values, most often ", grouped(frequent.distinct()));
  } else {
    out = fmt::format("    more than {} different values, of the first ones at least ",
                      grouped(frequent.distinct()));
  }
  bool first = true;
  for (const auto& [value, times] : frequent.top(kFrequentShown)) {
    out += fmt::format("{}{}", first ? "" : ", ", text(value));
    if (frequent.distinct() > 1 || !frequent.exact()) {
      out += fmt::format(" ({})", share_text(times, count));
    }
    first = false;
  }
  return out + "\n";
}

template <typename Number>
std::string numbers_text(const NumberStatistics<Number>& numbers) {
  std::string out = "    " + counted(numbers.count, "value");
  if (numbers.nans > 0) out += fmt::format(", {} of them NaN", grouped(numbers.nans));
  if (numbers.count == numbers.nans) return out + "\n";
  out += fmt::format(", {} to {}", number_text(numbers.min), number_text(numbers.max));
  if (numbers.moments.count() > 0) {
    out += fmt::format(", mean {}, sd {}", short_number(numbers.moments.mean()),
                       short_number(numbers.moments.standard_deviation()));
  }
  out.append("\n").append(distribution_text(numbers.distribution));
  return out + frequent_text(numbers.frequent, numbers.count,
                             [](Number value) { return number_text(value); });
}

std::string short_value_text(const std::string& value) {
  JsonText json;
  if (is_text(std::as_bytes(std::span(value)))) {
    json.string(value);
    return json.take();
  }
  std::string out = "0x";
  for (const char c : value) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string bytes_text(const BytesStatistics& bytes) {
  std::string out = fmt::format(
      "    {}, {} in all, lengths {} to {}, mean {}, sd {}\n", counted(bytes.count, "value"),
      byte_count(bytes.total_bytes), grouped(static_cast<uint64_t>(bytes.lengths.min())),
      grouped(static_cast<uint64_t>(bytes.lengths.max())), short_number(bytes.moments.mean()),
      short_number(bytes.moments.standard_deviation()));
  out += distribution_text(bytes.lengths);
  if (bytes.long_values > 0 && bytes.long_values < bytes.count) {
    out += fmt::format("    {} longer than {} bytes; of the others\n", grouped(bytes.long_values),
                       BytesStatistics::kShort);
  }
  return out + frequent_text(bytes.frequent, bytes.count, short_value_text);
}

std::string feature_text(std::string_view name, const ValueStatistics& values, uint64_t records,
                         bool steps) {
  std::string out = fmt::format("  {}: {}", name_text(name), kind_text(values.shape));
  if (values.shape.with_list() > 0) out.append(", ").append(values_text(values.shape));
  if (steps) {
    out += fmt::format(" in each of {} steps\n", grouped(values.shape.with_list()));
  } else {
    out += fmt::format(" in {} of records\n", share_text(values.shape.with_list(), records));
  }
  if (values.int64s.count > 0) out += numbers_text(values.int64s);
  if (values.floats.count > 0) out += numbers_text(values.floats);
  if (values.bytes.count > 0) out += bytes_text(values.bytes);
  return out;
}

}  // namespace

std::string stats_as_text(const FeatureStatistics& statistics) {
  std::string out = counted(statistics.records, "record") + "\n";
  if (statistics.with_features < statistics.records) {
    out += fmt::format("  {} of them no Examples\n",
                       grouped(statistics.records - statistics.with_features));
  }
  for (const auto& [name, values] : statistics.features) {
    out += feature_text(name, values, statistics.with_features, /*steps=*/false);
  }
  for (const auto& [name, values] : statistics.feature_lists) {
    out += feature_text(name, values, statistics.with_features, /*steps=*/true);
  }
  if (statistics.left_out > 0) {
    out += fmt::format(
        "  and features of other names, {} in all, which were not counted: choose "
        "with --feature\n",
        grouped(statistics.left_out));
  }
  return out;
}

}  // namespace recordpipe
