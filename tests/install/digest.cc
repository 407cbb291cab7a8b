// Prints the SHA-256 of no bytes.
#include <cstdio>

#include "recordpipe/io/sha256.h"

int main() { std::printf("%s\n", recordpipe::Sha256().hex().c_str()); }
