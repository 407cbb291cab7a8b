// The variable that cmake/standalone.cmake gives libjpeg.a and libpng.a in place of stderr. They
// print only with their own handlers of errors and warnings; ours don't.
#include <cstdio>

extern "C" {
std::FILE* recordpipe_codecs_stderr = stderr;
}
