// Decompresses what can't be read on after damage, and counts what is lost then.
#pragma once

#include <functional>
#include <memory>

#include "recordpipe/io/file.h"

namespace recordpipe {

using MakeContent =
    std::function<std::unique_ptr<ByteSource>(std::unique_ptr<ByteSource> compressed)>;

// Returns the content of `compressed`, which `decompress` makes of it. At Error{corrupted} and
// Error{truncated}, reads `compressed` to its end, and throws them as LostContent.
std::unique_ptr<ByteSource> with_counted_loss(std::unique_ptr<ByteSource> compressed,
                                              const MakeContent& decompress);

}  // namespace recordpipe
