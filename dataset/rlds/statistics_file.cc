#include "dataset/rlds/statistics_file.h"

#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "dataset/rlds/kept_file.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/parameter.h"
#include "recordpipe/io/atomic_file.h"

namespace recordpipe::rlds {
namespace {

using Json = nlohmann::json;

constexpr size_t kLargestFile = size_t{64} << 20;
constexpr int kVersion = 2;  // 1 had NaN where a value is NaN

// JSON has no infinities and no NaN: they are text.
Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) {
    if (std::isfinite(value)) {
      list.push_back(value);
    } else {
      list.push_back(shortest_text(value));
    }
  }
  return list;
}

std::vector<double> parse_numbers(const Json& list, size_t count) {
  std::vector<double> values;
  for (const Json& value : list) {
    if (value.is_string()) {
      const double limit = std::numeric_limits<double>::infinity();
      const auto text = value.get<std::string>();
      values.push_back(text == "inf"    ? limit
                       : text == "-inf" ? -limit
                                        : std::numeric_limits<double>::quiet_NaN());
    } else {
      values.push_back(value.get<double>());
    }
  }
  if (values.size() != count) throw std::length_error("statistics");
  return values;
}

Json encode_episodes(const std::vector<LeftOutValues>& episodes) {
  Json list = Json::array();
  for (const LeftOutValues& each : episodes) {
    list.push_back({each.episode, each.values});
  }
  return list;
}

std::vector<LeftOutValues> parse_episodes(const Json& list, const EpisodeFiles& files) {
  std::vector<LeftOutValues> episodes;
  for (const Json& each : list) {
    const uint64_t episode = each.at(0);
    if (episode >= files.episodes()) throw std::out_of_range("episode");
    episodes.push_back(left_out_of(files, episode, each.at(1)));
  }
  return episodes;
}

std::string encode(const EpisodeStatistics& statistics, const std::string& hash) {
  Json features = Json::array();
  for (const StepStatistics& feature : statistics.features) {
    features.push_back({{"name", feature.name},
                        {"shape", feature.shape},
                        {"mean", numbers(feature.mean)},
                        {"std", numbers(feature.std)},
                        {"min", numbers(feature.min)},
                        {"max", numbers(feature.max)},
                        {"q01", numbers(feature.q01)},
                        {"q99", numbers(feature.q99)},
                        {"left_out", feature.left_out},
                        {"episodes", encode_episodes(feature.episodes)}});
  }
  const Json all{{"version", kVersion},
                 {"hash", hash},
                 {"episodes", statistics.episodes},
                 {"steps", statistics.steps},
                 {"features", std::move(features)}};
  return all.dump(2) + "\n";
}

// Nothing if the text is damaged, or is about other data.
std::optional<EpisodeStatistics> decode(const std::string& text, const std::string& hash,
                                        const StepReader& reader) {
  try {
    const Json all = Json::parse(text);
    if (all.at("version") != kVersion || all.at("hash") != hash) return std::nullopt;
    EpisodeStatistics statistics{all.at("episodes"), all.at("steps")};
    if (statistics.steps != reader.files().steps() ||
        statistics.episodes != reader.files().episodes() ||
        all.at("features").size() != reader.columns().size()) {
      return std::nullopt;
    }
    for (size_t i = 0; i < reader.columns().size(); ++i) {
      const StepColumn& column = reader.columns()[i];
      const Json& feature = all.at("features").at(i);
      if (feature.at("name") != column.name || feature.at("shape") != Json(column.shape)) {
        return std::nullopt;
      }
      size_t size = 1;
      for (const size_t dimension : column.shape) size *= dimension;
      const auto of = [&](const char* name) { return parse_numbers(feature.at(name), size); };
      statistics.features.push_back({column.name, column.shape, of("mean"), of("std"), of("min"),
                                     of("max"), of("q01"), of("q99"), feature.at("left_out"),
                                     parse_episodes(feature.at("episodes"), reader.files())});
      if (statistics.features.back().left_out.size() != size) return std::nullopt;
    }
    return statistics;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::string path_of(const StepReader& reader, uint64_t hash) {
  return parent_directory(reader.files().first_path()) + "/statistics-" + hexadecimal(hash) +
         ".json";
}

}  // namespace

LeftOutValues left_out_of(const EpisodeFiles& files, uint64_t episode, uint64_t values) {
  const Record record = files.record(files.episode(episode));
  return {episode, std::string(record.path), record.offset, values};
}

std::optional<EpisodeStatistics> load_statistics(FileSystem& file_system, const StepReader& reader,
                                                 uint64_t hash) {
  for (const std::string& place : kept_paths(path_of(reader, hash))) {
    try {
      if (!regular_file_size(file_system, place)) continue;
      const auto source = file_system.open_source(place);
      const std::vector<std::byte> bytes = read_all(*source, kLargestFile);
      const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (auto found = decode(text, hexadecimal(hash), reader)) return found;
    } catch (const Error&) {
      // They are computed again.
    }
  }
  return std::nullopt;
}

void keep_statistics(FileSystem& file_system, const StepReader& reader, uint64_t hash,
                     const EpisodeStatistics& statistics,
                     const std::function<void(const std::string& path)>& kept) {
  const std::string text = encode(statistics, hexadecimal(hash));
  const auto save = [&](const std::string& place) {
    AtomicFile file(file_system, place);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
  };
  keep_file(file_system, path_of(reader, hash), save, kept);
}

}  // namespace recordpipe::rlds
