#include "tools/tfrecord/option_hints.h"

#include <array>
#include <string_view>
#include <utility>

namespace recordpipe {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOptions = {
    {{"raise max_record_size", "raise --max-record-size"},
     {"read it with CRC checks off", "read it with --no-crc"},
     {"read it with compression gzip", "leave out --input-compression"},
     {"read it with compression zlib", "give --input-compression zlib"},
     {"read it with compression zstd", "leave out --input-compression"}}};
constexpr std::string_view kFetch = "fetch it again";
constexpr std::string_view kSalvage = "; tfrecord salvage takes out what is intact";

}  // namespace

std::string in_options(std::string hint) {
  for (const auto& [setting, option] : kOptions) {
    const size_t at = hint.find(setting);
    if (at != hint.npos) hint.replace(at, setting.size(), option);
  }
  return hint;
}

std::string text_of(const Error& error) {
  std::string text = in_options(error.what());
  const bool is_record = error.reason().ends_with("record");
  const size_t fetch = text.rfind(kFetch);
  if (is_record && fetch != text.npos) text.insert(fetch + kFetch.size(), kSalvage);
  return text;
}

}  // namespace recordpipe
