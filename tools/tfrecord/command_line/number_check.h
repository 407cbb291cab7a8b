// Checks for numbers on the command line.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

namespace recordpipe {

// [least, most]. CLI::Range lets NaN through.
inline CLI::Validator number_between(double least, double most) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        double value = 0;
        const bool is_number =
            CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
        return is_number ? std::string() : fmt::format("{} is not in [{}, {}]", text, least, most);
      },
      "");
}

// A whole number in [least, most]. (Left to CLI11, a negative one would wrap around to a large
// one.)
inline CLI::Validator whole_number(uint64_t least = 0, uint64_t most = UINT64_MAX) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        uint64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto [last, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && last == end && value >= least && value <= most) {
          return std::string();
        }
        return most == UINT64_MAX
                   ? fmt::format("{} is not a whole number from {} on", text, least)
                   : fmt::format("{} is not a whole number from {} to {}", text, least, most);
      },
      "");
}

// Makes bytes of 100MB (1000 * 1000), 1GiB (1024^3) or 4096. CLI::AsSizeValue's own message lists
// every unit.
inline CLI::Validator byte_size() {
  return CLI::Validator(
      [](std::string& text) {
        const std::string given = text;
        try {
          // (A negative number would wrap around to a large one.)
          if (!given.starts_with('-') && CLI::AsSizeValue(/*kb_is_1000=*/true)(text).empty() &&
              text != "0")
            return std::string();
        } catch (const CLI::ValidationError&) {
        }
        return fmt::format("{} is no size: 4096, 100MB and 1GiB are", given);
      },
      "");
}

}  // namespace recordpipe
