#include "tools/tfrecord/text/schema_text.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/toolkit/names.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/parameter.h"
#include "recordpipe/toolkit/json_text.h"

namespace recordpipe {
namespace {

std::string range_text(uint64_t min, uint64_t max, std::string_view one, std::string_view many) {
  if (min == max) return fmt::format("{} {}", grouped(min), min == 1 ? one : many);
  return fmt::format("{} to {} {}", grouped(min), grouped(max), many);
}

nlohmann::ordered_json range_json(uint64_t min, uint64_t max) {
  if (min > max) return nullptr;  // nothing was counted
  if (min == max) return min;
  return {{"min", min}, {"max", max}};
}

// Appends a new name without a search: operator[] would compare it with all other names first.
void add_new(nlohmann::ordered_json& object, const std::string& name,
             nlohmann::ordered_json value) {
  object.get_ref<nlohmann::ordered_json::object_t&>().emplace_back(name, std::move(value));
}

double share(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string_view kind_text(const InferredSchema& schema) {
  const auto kind = schema.kind();
  return kind ? to_string(*kind) : "mixed";
}

std::string values_text(const InferredFeature& feature) {
  if (feature.with_list() == 0) return "";
  return range_text(feature.min_values, feature.max_values, "value", "values");
}

std::string features_text(const InferredSchema& schema, std::string_view indent) {
  const uint64_t records = schema.with_features();
  TextTable table({Align::left, Align::left, Align::right, Align::right, Align::left});
  for (const auto& [name, feature] : schema.features) {
    table.add({name_text(name), std::string(json_kind(feature.kind())), values_text(feature),
               share_text(feature.with_list(), records)});
  }
  const bool of_lists = schema.count(MessageKind::example_list) > 0;
  const char* const one = of_lists ? "example" : "step";
  const char* const many = of_lists ? "examples" : "steps";
  for (const auto& [name, list] : schema.feature_lists) {
    const uint64_t with_list = list.step.with_list(), steps = list.steps();
    const std::string in =
        with_list == steps ? "in each of " : "in " + share_text(with_list, steps) + " of ";
    table.add({name_text(name), std::string(json_kind(list.step.kind())), values_text(list.step),
               share_text(list.records, records),
               in + range_text(list.min_steps, list.max_steps, one, many)});
  }
  return table.text(indent);
}

nlohmann::ordered_json features_json(const InferredSchema& schema) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, feature] : schema.features) {
    add_new(json, name,
            {{"kind", json_kind(feature.kind())},
             {"values", range_json(feature.min_values, feature.max_values)},
             {"share", share(feature.with_list(), schema.with_features())}});
  }
  return json;
}

nlohmann::ordered_json feature_lists_json(const InferredSchema& schema) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, list] : schema.feature_lists) {
    add_new(json, name,
            {{"kind", json_kind(list.step.kind())},
             {"values", range_json(list.step.min_values, list.step.max_values)},
             {"share", share(list.records, schema.with_features())},
             {"steps", range_json(list.min_steps, list.max_steps)}});
  }
  return json;
}

namespace {

std::string number_text(int64_t value) { return std::to_string(value); }
std::string number_text(float value) { return shortest_text(value); }

// Returns a block whose height is proportional to `bin`. A `bin` equal to `most` has the full
// height, and every `bin` above 0 is visible.
std::string_view bar(uint64_t bin, uint64_t most) {
  constexpr std::array<std::string_view, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const double part = most > 0 ? static_cast<double>(bin) / static_cast<double>(most) : 0;
  const auto height = static_cast<size_t>(part * 8 + 0.5);
  return kBlocks[bin > 0 ? std::max<size_t>(height, 1) : 0];
}

std::string histogram_text(const Distribution& distribution) {
  if (distribution.finite() == 0 || distribution.finite_min() == distribution.finite_max()) {
    return "";
  }
  const std::vector<uint64_t> bins = distribution.histogram(kHistogramBins);
  const uint64_t most = std::ranges::max(bins);
  std::string bars;
  for (const uint64_t bin : bins) bars += bar(bin, most);
  return fmt::format("    histogram {} |{}| {}\n", short_number(distribution.finite_min()), bars,
                     short_number(distribution.finite_max()));
}

// For a few distinct integers (for example labels), draws one bar each: "0 █, 1 ▅".
std::string histogram_text(const NumberStatistics<int64_t>& numbers) {
  if (!numbers.frequent.exact() || numbers.frequent.distinct() > kHistogramBins) {
    return histogram_text(numbers.distribution);
  }
  if (numbers.frequent.distinct() == 1) return "";
  auto values = numbers.frequent.top(kHistogramBins);
  const uint64_t most = values.front().times;
  std::ranges::sort(values, {}, [](const auto& entry) { return entry.value; });
  std::string out = "    histogram";
  for (size_t i = 0; i < values.size(); ++i) {
    out += fmt::format("{} {} {}", i > 0 ? "," : "", values[i].value, bar(values[i].times, most));
  }
  return out + "\n";
}
std::string histogram_text(const NumberStatistics<float>& numbers) {
  return histogram_text(numbers.distribution);
}

std::string quantiles_text(const Distribution& distribution) {
  if (distribution.min() == distribution.max()) return "";
  const auto quantiles = distribution.quantiles(kQuantilesShown);
  std::string out = "    quantiles";
  for (size_t i = 0; i < quantiles.size(); ++i) {
    out += fmt::format("{} {:g} %: {}", i > 0 ? "," : "", 100 * kQuantilesShown[i],
                       short_number(quantiles[i]));
  }
  return out + (distribution.exact()
                    ? "\n"
                    : fmt::format(" (within {:.2g} %)\n", 100 * distribution.within()));
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
      out += fmt::format(" ({}{})", share_text(times, count), first ? " of values" : "");
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
  out.append("\n").append(quantiles_text(numbers.distribution)).append(histogram_text(numbers));
  if (numbers.nans > 0 && numbers.frequent.exact() && numbers.frequent.distinct() == 1) {
    return out + "    the others always " + number_text(numbers.min) + "\n";
  }
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

std::string size_statistics_text(const SizeStatistics& sizes, std::string_view what) {
  const auto& [total, moments, distribution] = sizes;
  return fmt::format("{} in all, {} {} to {}, mean {}, sd {}\n", byte_count(total), what,
                     grouped(static_cast<uint64_t>(distribution.min())),
                     grouped(static_cast<uint64_t>(distribution.max())),
                     short_number(moments.mean()), short_number(moments.standard_deviation())) +
         quantiles_text(distribution) + histogram_text(distribution);
}

std::string byte_lengths_text(const BytesStatistics& bytes) {
  std::string out = fmt::format("    {}, {}", counted(bytes.count, "value"),
                                size_statistics_text(bytes.lengths, "lengths"));
  if (bytes.long_values > 0 && bytes.long_values < bytes.count) {
    out += fmt::format("    {} longer than {} bytes; of the others\n", grouped(bytes.long_values),
                       BytesStatistics::kShort);
  }
  return out + frequent_text(bytes.frequent, bytes.count, short_value_text);
}

// Names the kinds of the records that may have features.
std::string records_text(const FeatureStatistics& statistics) {
  const uint64_t others = statistics.sequences + statistics.example_lists;
  std::vector<std::string_view> kinds;
  if (statistics.with_features > others || others == 0) kinds.emplace_back("Examples");
  if (statistics.sequences > 0) kinds.emplace_back("SequenceExamples");
  if (statistics.example_lists > 0) kinds.emplace_back("ExampleListWithContexts");
  return fmt::format("{}", fmt::join(kinds, " and "));
}

std::string feature_text(std::string_view name, const ValueStatistics& values,
                         const FeatureStatistics& all, bool steps) {
  std::string out = fmt::format("  {}: {}", name_text(name), json_kind(values.shape.kind()));
  if (values.shape.with_list() > 0) out.append(", ").append(values_text(values.shape));
  if (steps) {
    out += fmt::format(" in each of {} {}\n", grouped(values.shape.with_list()),
                       all.example_lists > 0 ? "examples" : "steps");
  } else {
    out += fmt::format(" in {} of {}\n", share_text(values.shape.with_list(), all.with_features),
                       records_text(all));
  }
  if (values.int64s.count > 0) out += numbers_text(values.int64s);
  if (values.floats.count > 0) out += numbers_text(values.floats);
  if (values.bytes.count > 0) out += byte_lengths_text(values.bytes);
  return out;
}

}  // namespace

std::string undecided_text(const UndecidedRecords& undecided, std::string_view indent) {
  if (undecided.count == 0) return "";
  return fmt::format("{}undecided: {}, the first {}; --kind says what they are\n", indent,
                     counted(undecided.count, "record"), undecided.first);
}

void add_undecided(const UndecidedRecords& undecided, nlohmann::ordered_json& json) {
  if (undecided.count == 0) return;
  json["undecided"] = {{"records", undecided.count}, {"first", undecided.first}};
}

std::string left_out_text(uint64_t occurrences) {
  return fmt::format(
      "features of other names, {} in all, which were not counted: choose with --feature",
      grouped(occurrences));
}

std::string stats_as_text(const FeatureStatistics& statistics) {
  std::string out = counted(statistics.records, "record") + "\n";
  if (statistics.records > 0)
    out += "    " + size_statistics_text(statistics.record_sizes, "sizes");
  if (statistics.with_features < statistics.records) {
    out += fmt::format("  {} of them no Examples\n",
                       grouped(statistics.records - statistics.with_features));
  }
  for (const auto& [name, values] : statistics.features) {
    out += feature_text(name, values, statistics, /*steps=*/false);
  }
  for (const auto& [name, values] : statistics.feature_lists) {
    out += feature_text(name, values, statistics, /*steps=*/true);
  }
  if (statistics.left_out > 0) out += "  and " + left_out_text(statistics.left_out) + "\n";
  return out + undecided_text(statistics.undecided, "  ");
}

}  // namespace recordpipe
