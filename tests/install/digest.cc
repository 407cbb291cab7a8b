// Prints the SHA-256 of no bytes.
#include <cstdio>

#include "recordpipe/sha256.h"

int main() { std::printf("%s\n", recordpipe::Sha256().hex().c_str()); }
