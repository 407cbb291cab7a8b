// The names of members in WebDataset's tar archives: KEY.EXTENSION. The members of a sample follow
// one another.
#pragma once

#include <optional>
#include <string_view>

namespace recordpipe {

// The feature that holds a sample's key.
inline constexpr std::string_view kSampleKey = "__key__";

struct SampleName {
  std::string_view key;        // the path up to the first dot of its last component
  std::string_view extension;  // what follows: "jpg", "seg.png"; may be empty

  bool operator==(const SampleName&) const = default;
};

// Whether the value of a member that --members names is an integer: a class.
inline bool is_class(std::string_view extension) {
  return extension == "cls" || extension.ends_with(".cls");
}

// Returns null for a member that belongs to no sample: without a dot, hidden (a last component that
// begins with a dot), or of WebDataset's own ("__NAME__" at the top).
std::optional<SampleName> sample_name(std::string_view path);

}  // namespace recordpipe
