#include "recordpipe/rlds/episode_statistics.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "dataset/base/available_cpus.h"
#include "dataset/rlds/kept_file.h"
#include "recordpipe/atomic_file.h"
#include "recordpipe/error.h"
#include "recordpipe/image/half.h"
#include "recordpipe/philox.h"
#include "recordpipe/stop.h"

namespace recordpipe::rlds {
namespace {

using Json = nlohmann::json;

constexpr size_t kLargestFile = size_t{64} << 20;
constexpr int kVersion = 1;

// Calls work(i) for each i < count on several threads. Throws the exception of the lowest i that
// failed.
void for_each_in_parallel(uint64_t count, size_t threads,
                          const std::function<void(uint64_t)>& work) {
  std::atomic<uint64_t> next = 0;
  std::atomic<uint64_t> failed = count;
  std::exception_ptr error;
  std::mutex mutex;
  const auto run = [&] {
    for (uint64_t i = next++; i < failed; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i >= failed) return;
        failed = i;
        error = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < std::min<uint64_t>(threads, count); ++i) others.emplace_back(run);
    run();
  }
  if (error) std::rethrow_exception(error);
}

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

double to_double(TensorType type, const std::byte* from) {
  switch (type) {
    case TensorType::float32:
      return load<float>(from);
    case TensorType::float64:
      return load<double>(from);
    case TensorType::float16:
      return to_float(load<Float16>(from));
    case TensorType::bfloat16:
      return to_float(load<BFloat16>(from));
    case TensorType::int8:
      return load<int8_t>(from);
    case TensorType::int16:
      return load<int16_t>(from);
    case TensorType::int32:
      return load<int32_t>(from);
    case TensorType::int64:
      return static_cast<double>(load<int64_t>(from));
    case TensorType::uint16:
      return load<uint16_t>(from);
    case TensorType::uint32:
      return load<uint32_t>(from);
    case TensorType::uint64:
      return static_cast<double>(load<uint64_t>(from));
    default:
      return load<uint8_t>(from);
  }
}

// As numpy.quantile; orders a part of the values.
double quantile(std::span<double> values, double q) {
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const double part = place - static_cast<double>(below);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), at, values.end());
  const double low = *at;
  if (below + 1 == values.size()) return low;
  const double high = *std::min_element(at + 1, values.end());
  return part < 0.5 ? low + (high - low) * part : high - (high - low) * (1 - part);
}

class Computation {
 public:
  Computation(const StepReader& reader, const EpisodeStatisticsOptions& options)
      : reader_(reader), options_(options), threads_(thread_count(options.threads)) {}

  EpisodeStatistics run() {
    EpisodeStatistics all{reader_.files().episodes(), reader_.files().steps()};
    for (size_t i = 0; i < reader_.columns().size(); ++i) all.features.push_back(of_column(i));
    return all;
  }

 private:
  StepStatistics of_column(size_t number) {
    const StepColumn& column = reader_.columns()[number];
    size_t size = 1;
    for (const size_t dimension : column.shape) size *= dimension;
    const uint64_t steps = reader_.files().steps();
    std::vector<double> values(size * steps);  // [size, steps]
    for_each_in_parallel(reader_.files().episodes(), threads_,
                         [&](uint64_t episode) { read(episode, number, size, values); });

    StepStatistics out{column.name, column.shape};
    for (auto* statistic : {&out.mean, &out.std, &out.min, &out.max, &out.q01, &out.q99}) {
      statistic->resize(size);
    }
    for_each_in_parallel(size, threads_, [&](uint64_t element) {
      throw_if_stopped(options_.stop, {});
      summarise(std::span(values).subspan(element * steps, steps), element, out);
    });
    return out;
  }

  void read(uint64_t episode, size_t column, size_t size, std::vector<double>& values) const {
    const EpisodeFiles& files = reader_.files();
    StepReader::Row row{files.episode(episode), {}};
    if (row.place.steps == 0) return;
    throw_if_stopped(options_.stop, {});
    row.record = files.record(row.place);
    const TensorType type = *reader_.columns()[column].type;
    std::vector<std::byte> step(size * size_of(type));
    const uint64_t first = files.first_step(episode);
    for (uint64_t t = 0; t < row.place.steps; ++t) {
      row.place.step = t;
      reader_.write(row, column, step.data());
      for (size_t i = 0; i < size; ++i) {
        values[i * files.steps() + first + t] = to_double(type, step.data() + i * size_of(type));
      }
    }
  }

  static void summarise(std::span<double> values, size_t element, StepStatistics& out) {
    const auto count = static_cast<double>(values.size());
    double sum = 0;
    for (const double value : values) sum += value;
    const double mean = sum / count;
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    out.mean[element] = mean;
    out.std[element] = std::sqrt(squares / count);
    if (std::ranges::any_of(values, [](double value) { return std::isnan(value); })) {
      const double nan = std::numeric_limits<double>::quiet_NaN();
      out.min[element] = out.max[element] = out.q01[element] = out.q99[element] = nan;
      return;
    }
    out.min[element] = *std::ranges::min_element(values);
    out.max[element] = *std::ranges::max_element(values);
    out.q01[element] = quantile(values, 0.01);
    out.q99[element] = quantile(values, 0.99);
  }

  const StepReader& reader_;
  const EpisodeStatisticsOptions& options_;
  const size_t threads_;
};

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
                        {"q99", numbers(feature.q99)}});
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
                                     of("max"), of("q01"), of("q99")});
    }
    return statistics;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<EpisodeStatistics> load_kept(FileSystem& file_system, const std::string& path,
                                           const std::string& hash, const StepReader& reader) {
  for (const std::string& place : kept_paths(path)) {
    try {
      const auto status = file_system.status(place);
      if (!status || status->kind != FileKind::regular) continue;
      const auto source = file_system.open_source(place);
      const std::vector<std::byte> bytes = read_all(*source, kLargestFile);
      const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (auto found = decode(text, hash, reader)) return found;
    } catch (const Error&) {
      // It is computed again.
    }
  }
  return std::nullopt;
}

void check(const StepReader& reader) {
  const auto refuse = [](const std::string& reason) {
    throw Error({.kind = ErrorKind::invalid_argument, .reason = "episode_statistics: " + reason});
  };
  for (size_t i = 0; i < reader.columns().size(); ++i) {
    const StepColumn& column = reader.columns()[i];
    if (!column.type || column.window || reader.is_of_episode(i)) {
      refuse("feature '" + printable(column.name) + "' is not numbers of a step");
    }
  }
  if (reader.files().steps() == 0) refuse("there are no steps");
}

}  // namespace

EpisodeStatistics episode_statistics(const StepReader& reader,
                                     const EpisodeStatisticsOptions& options,
                                     FileSystem& file_system) {
  check(reader);
  if (!options.keep) return Computation(reader, options).run();
  uint64_t hash = 0;
  for (const Parameter& parameter : reader.parameters()) {
    for (const char c : parameter.value) hash = derive_key(hash, static_cast<unsigned char>(c));
    hash = derive_key(hash, parameter.value.size());
  }
  const std::string name = hexadecimal(hash);
  const std::string path =
      parent_directory(reader.files().first_path()) + "/statistics-" + name + ".json";
  if (auto kept = load_kept(file_system, path, name, reader)) return *std::move(kept);
  EpisodeStatistics computed = Computation(reader, options).run();
  const std::string text = encode(computed, name);
  keep_file(file_system, path, [&](const std::string& place) {
    AtomicFile file(file_system, place);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
  });
  return computed;
}

}  // namespace recordpipe::rlds
