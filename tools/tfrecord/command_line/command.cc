#include "tools/tfrecord/command_line/command.h"

#include <utility>

#include "dataset/base/damage_hint.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/command_line/command_app.h"

namespace recordpipe {

std::string exit_statuses(const std::string& no) {
  return "0 done; " + (no.empty() ? "" : "1 " + no + "; ") +
         "2 error: wrong usage, an input that can't be read, or no output. With several files, "
         "the highest. 130 interrupted (SIGTERM: 143, SIGHUP: 129).";
}

namespace {

constexpr char kSalvage[] = "; tfrecord salvage saves the intact records";
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
    case Remedy::detect_compression: {
      const size_t at = hint.find(kDetect);
      return hint.substr(0, at) + (at == hint.npos ? "" : "leave out --input-compression");
    }
    case Remedy::compression_zlib:
      return "this file looks compressed with zlib: give --input-compression zlib";
  }
  return hint;
}

}  // namespace

std::string text_of(const Error& error) {
  Error::Parts parts = error.parts();
  parts.hint = in_options(parts.hint, parts.remedy);
  if (parts.remedy == Remedy::salvage) parts.hint += kSalvage;
  if (parts.remedy == Remedy::crc_check_off) {
    const std::string own = std::string(kDamagedFileHint) + kCheckOff;
    const std::string more = parts.hint.starts_with(own) ? parts.hint.substr(own.size()) : "";
    parts.hint = kDamagedFileHint + more + kSalvage + kAllLikeThis + "read it with --no-crc";
  }
  return Error(std::move(parts)).what();
}

std::string shown_word(std::string_view word) {
  std::string_view url = word;  // the first one, and all after it
  while (!url.empty() && !is_http_url(url)) url.remove_prefix(1);
  if (url.empty()) return std::string(word);
  const std::string_view path = without_query(url);
  const size_t host = path.find("://") + 3;
  const bool is_one = path.find_first_of(" ,") == path.npos && path.find("://", host) == path.npos;
  std::string shown(word.substr(0, word.size() - url.size()));
  return shown += is_one ? without_secrets(url) : std::string(url.substr(0, host)) + "...";
}

std::string hint_of(const DamagedRegion& region) {
  if (region.remedy == Remedy::crc_check_off) {
    return std::string(kDamagedFileHint) + kAllLikeThis +
           "tfrecord convert --no-crc writes them anew";
  }
  return in_options(region.hint, region.remedy);
}

namespace {

// An argument such as -5 is rather an option of other programs than the name of a file.
void refuse_numbers(const Option& option) {
  if (!option.facts().is_argument) return;
  option.check([](const std::string& word) {
    const bool is_number = word.size() > 1 && word[0] == '-' && word[1] >= '0' && word[1] <= '9';
    return is_number ? word + " is no option; a file of this name is ./" + word : std::string();
  });
}

}  // namespace

Option CommandApp::add_input(const std::string& names, std::vector<std::string>& files,
                             const std::string& description, PathsOf paths) {
  const Option option = add_option(names, files, description);
  refuse_numbers(option);
  inputs_.push_back({option, std::move(paths)});
  return option;
}

Option CommandApp::add_input(const std::string& names, std::string& file,
                             const std::string& description, PathsOf paths) {
  const Option option = add_option(names, file, description);
  refuse_numbers(option);
  if (!paths) paths = [&file](const CommandContext&) { return std::vector{file}; };
  inputs_.push_back({option, std::move(paths)});
  return option;
}

Option CommandApp::add_output(const std::string& names, std::string& path,
                              const std::string& description, PathsOf replaced,
                              std::function<bool(const CommandContext&)> may_replace_input) {
  const Option option = add_option(names, path, description).type_name("FILE");
  if (outputs_.empty()) {
    add_flag("--no-clobber", keeps_files_, "Refuse to replace a file that exists");
  }
  outputs_.push_back({option, std::move(replaced), std::move(may_replace_input)});
  return option;
}

void CommandApp::add_check(std::function<void()> check) { checks_.push_back(std::move(check)); }

void CommandApp::check() const {
  for (const auto& check : checks_) check();
}

}  // namespace recordpipe
