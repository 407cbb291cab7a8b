// The version of recordpipe, defined only here: CMake reads it from this line.
#pragma once

// "MAJOR.MINOR.PATCH". Before 1.0, a minor version may change interfaces; CHANGELOG.md lists the
// changes.
#define RECORDPIPE_VERSION "0.2.0"
