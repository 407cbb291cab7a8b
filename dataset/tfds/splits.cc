// The slicing syntax of TFDS. Where it is odd, this is as odd: a unit of either end holds for both,
// and [:0shard] is the whole split.
#include "recordpipe/tfds/splits.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dataset/base/parse_number.h"
#include "dataset/tfds/trimmed.h"
#include "recordpipe/base/error.h"

namespace recordpipe::tfds {
namespace {

enum class Unit { examples, percent, shards };

[[noreturn]] void fail(std::string_view split, const std::string& reason) {
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "split \"" + printable(split) + "\": " + reason,
               .hint = "for example \"train\", \"train[:80%]\", \"train[10:20]+val[-5:]\", "
                       "\"train[:4shard]\" or \"all\""});
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

// One end of a slice: "", "10", "-5", "12.5%", "4shard".
struct End {
  std::string number;  // "" if it is absent
  Unit unit = Unit::examples;
  bool has_unit = false;
};

End parse_end(std::string_view text, std::string_view split) {
  End end;
  if (text.empty()) return end;
  if (text.ends_with("%")) {
    end.unit = Unit::percent;
    text.remove_suffix(1);
  } else if (text.ends_with("shard")) {
    end.unit = Unit::shards;
    text.remove_suffix(5);
  }
  end.has_unit = end.unit != Unit::examples;
  const auto is_digit = [&](size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_' && i > 0 && is_digit(i - 1) && is_digit(i + 1)) continue;  // as in Python
    const bool is_sign = text[i] == '-' && i == 0 && text.size() > 1;
    if (!is_digit(i) && text[i] != '.' && !is_sign) {
      fail(split, "\"" + printable(text) + "\" is not a number");
    }
    end.number += text[i];
  }
  if (end.number.empty()) fail(split, "a unit without a number");
  return end;
}

double percent_of(const std::string& number, std::string_view split) {
  const auto value = parse_number<double>(number);
  if (!value) fail(split, "\"" + number + "\" is not a number");
  if (std::abs(*value) > 100) fail(split, number + "% is not between -100% and 100%");
  return *value;
}

int64_t integer_of(const std::string& number, std::string_view split) {
  if (const auto value = parse_number<int64_t>(number)) return *value;
  fail(split, "\"" + number + "\" is not an integer");
}

// Percent to Examples.
int64_t rounded(double percent, int64_t size, Rounding rounding, std::string_view split) {
  if (rounding == Rounding::closest) {
    // As Python computes it, in this order; nearbyint() rounds a half to the even number.
    return static_cast<int64_t>(std::nearbyint(percent * static_cast<double>(size) / 100.0));
  }
  if (size < 100) fail(split, "less than 100 Examples, for multiples of 1 %");
  if (percent != std::trunc(percent)) fail(split, "multiples of 1 % only, with this rounding");
  return static_cast<int64_t>(percent) * (size / 100);
}

// The Examples of the shards lengths[:end], as Python slices.
int64_t sum_of_shards(const std::vector<uint64_t>& lengths, int64_t end) {
  const auto count = static_cast<int64_t>(lengths.size());
  if (end < 0) end = std::max<int64_t>(end + count, 0);
  end = std::min(end, count);
  return static_cast<int64_t>(std::accumulate(lengths.begin(), lengths.begin() + end, uint64_t{0}));
}

ExampleRange range_of(const Split& split, const End& from, const End& to, Unit unit,
                      Rounding rounding, std::string_view spec) {
  const auto size = static_cast<int64_t>(split.size());
  const auto shards = static_cast<int64_t>(split.shard_lengths.size());
  int64_t begin = 0;
  int64_t end = size;
  if (!from.number.empty()) {
    begin = unit == Unit::percent ? rounded(percent_of(from.number, spec), size, rounding, spec)
            : unit == Unit::shards
                ? sum_of_shards(split.shard_lengths, integer_of(from.number, spec))
                : integer_of(from.number, spec);
  }
  if (!to.number.empty()) {
    if (unit == Unit::percent) {
      end = rounded(percent_of(to.number, spec), size, rounding, spec);
    } else if (unit == Unit::shards) {
      int64_t shard = integer_of(to.number, spec);
      if (shard <= 0) shard += shards;
      end = sum_of_shards(split.shard_lengths, shard);
    } else {
      end = integer_of(to.number, spec);
    }
  }
  if (begin > size || begin < -size || end > size || end < -size) {
    fail(spec, "the slice [" + std::to_string(begin) + ":" + std::to_string(end) +
                   "] is beyond the split, which has " + std::to_string(size) + " Examples");
  }
  if (begin < 0) begin += size;
  if (end < 0) end += size;
  return {split.name, static_cast<uint64_t>(begin), static_cast<uint64_t>(std::max(begin, end))};
}

std::string names_of(const Info& info) {
  std::string names;
  for (const Split& split : info.splits) names += (names.empty() ? "" : ", ") + split.name;
  return names;
}

void parse_one(std::string_view spec, const Info& info, Rounding rounding,
               std::vector<ExampleRange>& ranges) {
  const size_t bracket = spec.find('[');
  const std::string_view name = spec.substr(0, bracket);
  if (name.empty() || !std::ranges::all_of(name, is_word)) fail(spec, "not a split");
  if (name == "all") {
    if (bracket != spec.npos) fail(spec, "\"all\" has no slices");
    for (const Split& split : info.splits) {
      ranges.push_back({split.name, 0, split.size()});
    }
    return;
  }
  End from;
  End to;
  Unit unit = Unit::examples;
  if (bracket != spec.npos) {
    if (!spec.ends_with("]")) fail(spec, "no \"]\" at the end");
    const std::string_view slice = spec.substr(bracket + 1, spec.size() - bracket - 2);
    const size_t colon = slice.find(':');
    from = parse_end(slice.substr(0, colon), spec);
    if (colon == slice.npos) {
      if (from.number.empty() || from.unit != Unit::shards) {
        fail(spec, "a single number must be a shard");
      }
      to = from;
      const int64_t shard = integer_of(from.number, spec);
      if (shard == INT64_MAX) fail(spec, "there is no such shard");
      to.number = std::to_string(shard + 1);
    } else {
      to = parse_end(slice.substr(colon + 1), spec);
      if (from.number.empty() && to.number.empty()) fail(spec, "an empty slice");
    }
    unit = from.has_unit ? from.unit : to.unit;
  }
  const Split* split = info.find(name);
  if (!split) fail(spec, "there is no such split; there are " + printable(names_of(info)));
  ranges.push_back(range_of(*split, from, to, unit, rounding, spec));
}

}  // namespace

std::string_view to_string(Rounding rounding) {
  return rounding == Rounding::closest ? "closest" : "pct1_dropremainder";
}

std::vector<ExampleRange> parse_split(std::string_view split, const Info& info, Rounding rounding) {
  std::vector<ExampleRange> ranges;
  for (size_t begin = 0; begin <= split.size();) {
    const size_t end = std::min(split.find('+', begin), split.size());
    parse_one(trimmed(split.substr(begin, end - begin)), info, rounding, ranges);
    begin = end + 1;
  }
  std::erase_if(ranges, [](const ExampleRange& range) { return range.begin == range.end; });
  return ranges;
}

std::vector<FileRange> file_ranges(const std::vector<ExampleRange>& ranges, const Info& info) {
  std::vector<FileRange> files;
  for (const ExampleRange& range : ranges) {
    const Split& split = *info.find(range.split);
    uint64_t first = 0;  // Example of the file
    for (size_t i = 0; i < split.files.size(); ++i) {
      const uint64_t length = split.shard_lengths[i];
      const uint64_t begin = std::clamp(range.begin, first, first + length) - first;
      const uint64_t end = std::clamp(range.end, first, first + length) - first;
      if (begin < end) files.push_back({split.files[i], begin, end, length});
      first += length;
    }
  }
  return files;
}

}  // namespace recordpipe::tfds
