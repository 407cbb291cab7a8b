#include "tools/tfrecord/command_line/command.h"

#include <utility>

#include "dataset/base/damage_hint.h"
#include "tools/tfrecord/command_line/command_app.h"

namespace recordpipe {

std::string exit_statuses(const std::string& no) {
  return "0 done; " + (no.empty() ? "" : "1 " + no + "; ") +
         "2 trouble: wrong usage, an input that can't be read, or no output. With several files, "
         "the highest. 130 interrupted (SIGTERM: 143, SIGHUP: 129).";
}

namespace {

constexpr char kSalvage[] = "; tfrecord salvage takes out what is intact";
constexpr char kAllLikeThis[] = "; if all its records are like this, ";

// `hint`, or its counterpart if the remedy is an option.
std::string in_options(const std::string& hint, Remedy remedy) {
  switch (remedy) {
    case Remedy::none:
    case Remedy::salvage:
    case Remedy::crc_check_off:
      return hint;
    case Remedy::raise_max_record_size:
      return "if the length is correct, raise --max-record-size; otherwise the file is damaged";
    case Remedy::compression_gzip:
      return "this file is compressed with gzip: leave out --input-compression";
    case Remedy::compression_zlib:
      return "this file looks compressed with zlib: give --input-compression zlib";
    case Remedy::compression_zstd:
      return "this file is compressed with zstd: leave out --input-compression";
  }
  return hint;
}

}  // namespace

std::string text_of(const Error& error) {
  Error::Parts parts = error.parts();
  parts.hint = in_options(parts.hint, parts.remedy);
  if (parts.remedy == Remedy::salvage) parts.hint += kSalvage;
  if (parts.remedy == Remedy::crc_check_off) {
    parts.hint = std::string(kDamagedFileHint) + kSalvage + kAllLikeThis + "read it with --no-crc";
  }
  return Error(std::move(parts)).what();
}

std::string hint_of(const DamagedRegion& region) {
  if (region.remedy == Remedy::crc_check_off) {
    return std::string(kDamagedFileHint) + kAllLikeThis +
           "tfrecord convert --no-crc writes them anew";
  }
  return in_options(region.hint, region.remedy);
}

CLI::Option* CommandApp::add_input(std::string names, std::vector<std::string>& files,
                                   std::string description) {
  CLI::Option* const option = add_option(std::move(names), files, std::move(description));
  inputs_.push_back({option, [&files](FileSystem&) { return files; }});
  return option;
}

CLI::Option* CommandApp::add_input(std::string names, std::string& file, std::string description,
                                   PathsOf paths) {
  CLI::Option* const option = add_option(std::move(names), file, std::move(description));
  if (!paths) paths = [&file](FileSystem&) { return std::vector{file}; };
  inputs_.push_back({option, std::move(paths)});
  return option;
}

CLI::Option* CommandApp::add_output(std::string names, std::string& path, std::string description,
                                    OutputOption output) {
  CLI::Option* const option = add_option(std::move(names), path, std::move(description));
  output.option = option->type_name("FILE");
  outputs_.push_back(std::move(output));
  return option;
}

}  // namespace recordpipe
