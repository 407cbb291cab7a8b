// Converts LibSVM's text (also SVMlight's) to Examples: one Example per line
//
//     LABEL [qid:QUERY] INDEX:VALUE INDEX:VALUE ...  # a comment
//
// with the features "label" (float), "index" (int64s), "value" (floats) and, if the line has one,
// "qid" (int64). Indexes are kept as they are written, from 0 or from 1.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace recordpipe {

// Returns the serialised Example of a line; nullopt if it is empty or only a comment. Throws
// Error{corrupted} for anything else, and for a number out of the range of float.
std::optional<std::string> example_of_libsvm(std::string_view line);

}  // namespace recordpipe
