// Files named by patterns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/file.h"

namespace recordpipe {

// Whether `path` holds a character that means more than itself in a pattern: * ? [
bool has_glob_characters(std::string_view path);

// The paths that match `pattern`, sorted by their bytes; none where nothing matches. Patterns are
// the shell's (glob(7)): * is any characters, ? one, [a-c] one of these, [!a-c] one of all others,
// none of them a /, nor a dot at the start of a name; \ takes the meaning from the one behind it.
// Folders may be patterns too: "data/*/train-?????-of-00016". What is found by a pattern at the end
// is no folder.
std::vector<std::string> glob(FileSystem& file_system, const std::string& pattern);

}  // namespace recordpipe
