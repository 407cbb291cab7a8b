#include "tools/tfrecord/output_check.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "dataset/base/error.h"
#include "dataset/io/glob.h"
#include "dataset/io/http_url.h"
#include "tools/tfrecord/command.h"

namespace recordpipe {
namespace {

// The arguments that name files; others name shells and commands.
constexpr std::array<std::string_view, 4> kFileArguments = {"FILE", "INPUT", "A", "B"};

// Linux's names of it.
constexpr std::array<std::string_view, 3> kStandardOutput = {"/dev/stdout", "/dev/fd/1",
                                                             "/proc/self/fd/1"};

bool are_one_file(const std::string& a, const std::string& b) {
  std::error_code none;  // one that isn't there is no other
  return std::filesystem::equivalent(a, b, none);
}

bool names(FileSystem& files, const std::string& given, const std::string& output) {
  if (is_http_url(given) || given == "-") return false;
  if (are_one_file(given, output)) return true;
  if (!has_glob_characters(given)) return false;
  return std::ranges::any_of(glob(files, given),
                             [&](const std::string& path) { return are_one_file(path, output); });
}

}  // namespace

void require_sound_output(FileSystem& files, const CLI::App& app, bool replaces_input) {
  const CLI::Option* const option = app.get_option_no_throw("--output");
  if (option == nullptr || option->empty()) return;
  const std::string output = option->results().front();
  if (output.empty()) throw UsageError("-o names no file");
  // What is said of a result that went to a file would be printed into it.
  if (std::ranges::find(kStandardOutput, output) != kStandardOutput.end()) {
    throw UsageError("standard output is written with -o -");
  }
  if (replaces_input || output == "-") return;
  for (const CLI::Option* const input : app.get_options()) {
    if (std::ranges::find(kFileArguments, input->get_name()) == kFileArguments.end()) continue;
    for (const std::string& given : input->results()) {
      if (!names(files, given, output)) continue;
      throw UsageError("-o " + printable(output) +
                       " is one of the files that are read, and would be replaced: give another");
    }
  }
}

}  // namespace recordpipe
