// The version of recordpipe, which stands here and nowhere else: CMake reads it from this line.
#pragma once

// "MAJOR.MINOR.PATCH". Before 1.0, a minor version may change what others build on; CHANGELOG.md says
// what.
#define RECORDPIPE_VERSION "0.2.0"
