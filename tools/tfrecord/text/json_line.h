// Small answers as JSON; records, which come by the million, are json_text.h's.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "recordpipe/internal/url_path.h"

namespace recordpipe {

// On one line, without its end; what is not valid UTF-8 (names of files may be anything) becomes
// U+FFFD.
inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}
inline std::string json_line(const nlohmann::ordered_json& json) { return json_text(json) + "\n"; }

// Of a file that can't be read, by commands which print an object a file.
inline std::string error_line(const std::string& path, const std::string& error) {
  return json_line({{"path", without_secrets(path)}, {"error", error}});
}

}  // namespace recordpipe
