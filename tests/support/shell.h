// Expands words by bash, as an independent twin.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/temporary_directory.h"

namespace recordpipe {

// Returns what bash expands each of `words` to in `folder`: braces and patterns, with globstar and
// nullglob, in the order of the C locale, without empty results. A word has letters, digits and
// characters of patterns, but no quotes, blanks, $, or other special characters of the shell.
inline std::vector<std::vector<std::string>> bash_expansions(const std::vector<std::string>& words,
                                                             const std::string& folder) {
  const TemporaryDirectory scratch;
  std::string script = "export LC_ALL=C; shopt -s globstar nullglob; cd '" + folder + "' || exit\n";
  for (const std::string& word : words) script += "printf '%s\\0' " + word + "; printf '\\n\\0'\n";
  write_file(scratch / "script", script);
  std::FILE* const pipe = ::popen(("bash '" + scratch / "script" + "'").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("can't run bash");
  std::string output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  if (::pclose(pipe) != 0) throw std::runtime_error("bash failed");
  std::vector<std::vector<std::string>> results(1);
  for (size_t begin = 0; begin < output.size();) {
    const size_t end = output.find('\0', begin);
    const std::string result = output.substr(begin, end - begin);
    begin = end + 1;
    if (result == "\n") {
      results.emplace_back();
    } else if (!result.empty()) {
      results.back().push_back(result);
    }
  }
  results.pop_back();
  return results;
}

}  // namespace recordpipe
