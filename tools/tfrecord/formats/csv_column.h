// What the cells of a CSV column are: int64, float or bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/tfrecord/formats/csv.h"

namespace recordpipe {

// The cell as a serialised Feature, or nothing where it is not of the type.
std::optional<std::string> feature_of_cell(const CsvCell& cell, std::string_view type);

// The narrowest type that all the cells of a column fit. A cell in quotes is bytes, unless it holds
// JSON.
class CsvColumnGuess {
 public:
  // `path` and `line` are where it stands.
  void look_at(const CsvCell& cell, const std::string& path, uint64_t line);
  // "int64", "float" or "bytes" for the column of this name. Throws Error{corrupted}, with the
  // place, where it is float and has a whole number that no float32 holds exactly: an identifier,
  // say, that would become another.
  std::string_view type(const std::string& name) const;

 private:
  struct Place {
    std::string path;
    uint64_t line;
    std::string text;
  };

  size_t type_ = 0;
  std::optional<Place> rounded_ = {};  // the first such number
};

}  // namespace recordpipe
