// What the columns of Features and of FeatureLists have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/utf8.h"
#include "recordpipe/example/internal/feature_reader.h"
#include "recordpipe/example/internal/wanted_features.h"

namespace recordpipe {

// As the form of a column, the features that have none.
inline constexpr std::string_view kViewForm = "view";

[[noreturn]] inline void refuse_text(std::string_view what, const WantedFeature& feature) {
  throw Error({.kind = ErrorKind::unsupported,
               .reason = std::string(what) + " '" + printable(feature.name) +
                         "' holds text that is not UTF-8",
               .hint = "declare it as bytes if it isn't text"});
}

// Adds what UnlistedFeatures::meet() has returned; a record may have several entries of one name.
inline void add_unlisted(std::string feature, std::vector<std::string>& all) {
  if (!feature.empty() && std::ranges::find(all, feature) == all.end()) {
    all.push_back(std::move(feature));
  }
}

// Whether all bytes values are UTF-8. read_pieces: as in ValuesBuffer::write().
template <typename ReadPieces>
bool holds_utf8(ReadPieces read_pieces) {
  bool valid = true;
  read_pieces([&](WireReader piece) {
    read_values<FeatureKind::bytes>(
        piece, [&] { valid = true; },
        [&](std::span<const std::byte> value) {
          valid = valid && is_utf8({reinterpret_cast<const char*>(value.data()), value.size()});
        });
  });
  return valid;
}

// See FeatureColumns::validity(). `found` begins with the column's entry for the first row.
template <typename Found, typename IsMissing>
std::vector<uint8_t> validity_of(std::span<Found> found, size_t rows, size_t columns,
                                 IsMissing is_missing) {
  std::vector<uint8_t> bits;
  for (size_t row = 0; row < rows; ++row) {
    if (!is_missing(found[row * columns])) continue;
    if (bits.empty()) bits.assign((rows + 7) / 8, 0xFF);
    bits[row / 8] &= static_cast<uint8_t>(~(1U << row % 8));
  }
  return bits;
}

}  // namespace recordpipe
