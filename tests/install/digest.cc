// The SHA-256 of nothing.
#include <cstdio>

#include "recordpipe/sha256.h"

int main() { std::printf("%s\n", recordpipe::Sha256().hex().c_str()); }
