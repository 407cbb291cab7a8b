// Reads profiles from the AWS configuration files.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "dataset/object_store/environment.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// The settings of one section. A nested setting, an indented line below "s3 =", has the name
// "s3.addressing_style".
using ProfileSettings = std::map<std::string, std::string>;

// Parses the text of a configuration file into its sections: {"default": {...}, "profile a":
// {...}}. Lines that have no "=" are ignored, as the AWS tools do.
std::map<std::string, ProfileSettings> parse_profiles(std::string_view text);

struct AwsProfile {
  std::string name = {};  // AWS_PROFILE; "default" if it is not set
  ProfileSettings settings = {};

  // "" if there is no such setting.
  std::string get(const std::string& name) const;
};

// Reads the profile AWS_PROFILE from AWS_SHARED_CREDENTIALS_FILE (default: ~/.aws/credentials) and
// AWS_CONFIG_FILE (default: ~/.aws/config), in this order of precedence. Missing files are empty.
// Throws Error{not_found} if AWS_PROFILE is set and neither file has this profile, and
// Error{limit_exceeded} for a file of more than 1 MiB.
AwsProfile read_aws_profile(FileSystem& local, const Environment& environment);

// Reads a whole small file of the local file system; "" if it does not exist. Throws
// Error{limit_exceeded} for more than 1 MiB.
std::string read_small_file(FileSystem& local, const std::string& path);

}  // namespace recordpipe
