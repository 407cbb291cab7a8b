// more_compressions.h without libarchive.
#include "recordpipe/decompression/more_compressions.h"

namespace recordpipe {

void read_more_compressions() {}

}  // namespace recordpipe
