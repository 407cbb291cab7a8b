#include "dataset/base/names_in_words.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {

std::string name_text(std::string_view name) {
  constexpr size_t kMax = 100;
  if (name.empty()) return "\"\"";
  if (name.size() <= 2 * kMax) return printable(name);
  size_t end = kMax;
  // Doesn't cut inside a UTF-8 sequence.
  while (end > kMax - 4 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
  return printable(name.substr(0, end)) + "... (" + grouped(name.size()) + " bytes)";
}

size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string there_are(std::vector<std::string> names, std::string_view wanted) {
  constexpr size_t kMaxNames = 10;
  constexpr size_t kMaxLetters = 100;  // compared per name
  if (names.empty()) return "there are none";
  std::vector<std::pair<size_t, std::string>> by_distance;
  for (std::string& name : names) {
    const size_t distance =
        edits(std::string_view(name).substr(0, kMaxLetters), wanted.substr(0, kMaxLetters));
    by_distance.emplace_back(distance, std::move(name));
  }
  std::ranges::sort(by_distance);
  std::string text;
  const size_t shown = std::min(by_distance.size(), kMaxNames);
  for (size_t i = 0; i < shown; ++i) {
    text.append(i == 0 ? "" : ", ").append(name_text(by_distance[i].second));
  }
  const size_t more = by_distance.size() - shown;
  if (more > 0) text += " and " + grouped(more) + " more";
  text.insert(0, by_distance.size() == 1 ? "there is " : "there are ");
  const auto& [distance, nearest] = by_distance[0];
  const bool is_near = distance * 2 <= wanted.size() && nearest.size() <= kMaxLetters;
  return is_near ? text + "; did you mean " + name_text(nearest) + "?" : text;
}

}  // namespace recordpipe
