// Expands glob patterns for file names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/io/file.h"

namespace recordpipe {

// Whether `path` contains one of the special characters of patterns: * ? [
bool has_glob_characters(std::string_view path);

// Returns the paths that match `pattern`, sorted bytewise; empty if none match. The syntax is the
// shell's (glob(7)): * matches any string, ? one character, [a-c] one of these characters, [!a-c]
// any other character. None of these patterns matches a /, or a dot at the start of a name. A
// backslash escapes the next character. Directories may also be patterns:
// "data/*/train-?????-of-00016". A pattern in the last component does not match directories.
//
// A component ** stands for any number of directories, also none, as in bash with globstar:
// "data/**/*.tfrecord". As the last component, it matches all files below. It stands neither for
// directories that begin with a dot nor for symbolic links to directories, so that loops of links
// end; other components match such links. Each directory is listed once.
//
// In s3://BUCKET/KEY and gs://BUCKET/KEY, the key may be a pattern; where one component of it is
// compared, the service finds the names by the text before the first special character, with one
// request for each 1000 names.
std::vector<std::string> glob(FileSystem& file_system, const std::string& pattern);

}  // namespace recordpipe
