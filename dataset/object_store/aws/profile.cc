#include "dataset/object_store/aws/profile.h"

#include <algorithm>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

constexpr size_t kLargestFile = size_t{1} << 20;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// The blanks of a section's name are not significant: "[ profile   a ]".
std::string section_name(std::string_view line) {
  const size_t end = std::min(line.find(']'), line.size());
  std::string name;
  for (const char c : trimmed(line.substr(1, end == 0 ? 0 : end - 1))) {
    if (!is_blank(c)) {
      name += c;
    } else if (!name.ends_with(' ')) {
      name += ' ';
    }
  }
  return name;
}

std::string path_of(const Environment& environment, const std::string& variable,
                    const std::string& name) {
  const std::string path = environment(variable);
  if (path.starts_with("~/")) return environment("HOME") + path.substr(1);
  if (!path.empty()) return path;
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.aws/" + name;
}

}  // namespace

std::map<std::string, ProfileSettings> parse_profiles(std::string_view text) {
  std::map<std::string, ProfileSettings> sections;
  ProfileSettings* section = nullptr;
  std::string parent;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view line = trimmed(whole);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      section = &sections[section_name(line)];
      parent.clear();
      continue;
    }
    const size_t equals = line.find('=');
    if (section == nullptr || equals == line.npos) continue;
    const std::string name(trimmed(line.substr(0, equals)));
    const std::string value(trimmed(line.substr(equals + 1)));
    if (is_blank(whole.front()) && !parent.empty()) {
      (*section)[parent + "." + name] = value;
    } else {
      (*section)[name] = value;
      parent = value.empty() ? name : "";
    }
  }
  return sections;
}

std::string AwsProfile::get(const std::string& setting) const {
  const auto found = settings.find(setting);
  return found == settings.end() ? "" : found->second;
}

std::string read_small_file(FileSystem& local, const std::string& path) {
  if (path.empty() || !local.status(path)) return "";
  const std::vector<std::byte> bytes = read_all(*local.open_source(path), kLargestFile);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

AwsProfile read_aws_profile(FileSystem& local, const Environment& environment) {
  const std::string chosen = environment("AWS_PROFILE");
  AwsProfile profile{.name = chosen.empty() ? "default" : chosen};
  bool found = false;
  const auto add = [&](const std::string& path, const std::string& section) {
    auto sections = parse_profiles(read_small_file(local, path));
    const auto at = sections.find(section);
    if (at == sections.end()) return;
    found = true;
    profile.settings.merge(at->second);  // keeps settings of the file that was read first
  };
  add(path_of(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials"), profile.name);
  const std::string config = path_of(environment, "AWS_CONFIG_FILE", "config");
  add(config, "profile " + profile.name);
  if (profile.name == "default") add(config, "default");
  if (!chosen.empty() && !found) {
    throw Error({.kind = ErrorKind::not_found,
                 .path = config,
                 .reason = "no profile " + printable(chosen) + ", which AWS_PROFILE names",
                 .hint = "check AWS_PROFILE, AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE"});
  }
  return profile;
}

}  // namespace recordpipe
