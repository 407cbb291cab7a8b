#include "recordpipe/rlds/episode_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "dataset/base/available_cpus.h"
#include "dataset/parallel/for_each.h"
#include "dataset/rlds/statistics_file.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/philox.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/image/half.h"

namespace recordpipe::rlds {
namespace {

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
    std::vector<uint64_t> not_finite(reader_.files().episodes());
    parallel::for_each(reader_.files().episodes(), threads_, [&](uint64_t episode) {
      not_finite[episode] = read(episode, number, size, values);
    });

    StepStatistics out{column.name, column.shape};
    for (auto* const statistic : statistics_of(out)) statistic->resize(size);
    out.left_out.resize(size);
    out.episodes = episodes_with(not_finite);
    parallel::for_each(size, threads_, [&](uint64_t element) {
      throw_if_stopped(options_.stop, {});
      summarise(std::span(values).subspan(element * steps, steps), element, out);
    });
    return out;
  }

  static std::array<std::vector<double>*, 6> statistics_of(StepStatistics& of) {
    return {&of.mean, &of.std, &of.min, &of.max, &of.q01, &of.q99};
  }

  std::vector<LeftOutValues> episodes_with(const std::vector<uint64_t>& not_finite) const {
    std::vector<LeftOutValues> episodes;
    for (uint64_t i = 0; i < not_finite.size(); ++i) {
      if (not_finite[i] == 0) continue;
      if (episodes.size() == StepStatistics::kMaxEpisodes) break;
      episodes.push_back(left_out_of(reader_.files(), i, not_finite[i]));
    }
    return episodes;
  }

  // Returns the number of NaNs and infinities.
  uint64_t read(uint64_t episode, size_t column, size_t size, std::vector<double>& values) const {
    const EpisodeFiles& files = reader_.files();
    StepReader::Row row{files.episode(episode), {}};
    if (row.place.steps == 0) return 0;
    throw_if_stopped(options_.stop, {});
    row.record = files.record(row.place);
    const TensorType type = *reader_.columns()[column].type;
    std::vector<std::byte> step(size * size_of(type));
    const uint64_t first = files.first_step(episode);
    uint64_t not_finite = 0;
    for (uint64_t t = 0; t < row.place.steps; ++t) {
      row.place.step = t;
      reader_.write(row, column, step.data());
      for (size_t i = 0; i < size; ++i) {
        const double value = to_double(type, step.data() + i * size_of(type));
        if (!std::isfinite(value)) ++not_finite;
        values[i * files.steps() + first + t] = value;
      }
    }
    return not_finite;
  }

  static void summarise(std::span<double> all, size_t element, StepStatistics& out) {
    const auto left_out =
        std::ranges::stable_partition(all, [](double value) { return std::isfinite(value); });
    out.left_out[element] = left_out.size();
    const std::span<double> values = all.first(all.size() - left_out.size());
    if (values.empty()) {
      for (auto* const statistic : statistics_of(out)) {
        (*statistic)[element] = std::numeric_limits<double>::quiet_NaN();
      }
      return;
    }
    const auto count = static_cast<double>(values.size());
    double sum = 0;
    for (const double value : values) sum += value;
    const double mean = sum / count;
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    out.mean[element] = mean;
    out.std[element] = std::sqrt(squares / count);
    out.min[element] = *std::ranges::min_element(values);
    out.max[element] = *std::ranges::max_element(values);
    out.q01[element] = quantile(values, 0.01);
    out.q99[element] = quantile(values, 0.99);
  }

  const StepReader& reader_;
  const EpisodeStatisticsOptions& options_;
  const size_t threads_;
};

void check(const StepReader& reader) {
  const auto refuse = [](const std::string& reason) {
    throw Error({.kind = ErrorKind::invalid_argument, .reason = "episode_statistics: " + reason});
  };
  for (size_t i = 0; i < reader.columns().size(); ++i) {
    const StepColumn& column = reader.columns()[i];
    const bool is_complex =
        column.type == TensorType::complex64 || column.type == TensorType::complex128;
    if (!column.type || is_complex || column.window || column.is_ragged ||
        reader.is_of_episode(i)) {
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
  if (auto kept = load_statistics(file_system, reader, hash)) return *std::move(kept);
  EpisodeStatistics computed = Computation(reader, options).run();
  keep_statistics(file_system, reader, hash, computed, options.kept);
  return computed;
}

}  // namespace recordpipe::rlds
