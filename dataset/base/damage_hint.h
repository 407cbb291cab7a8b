// The common hint of errors about damaged files.
#pragma once

namespace recordpipe {

inline constexpr char kDamagedFileHint[] =
    "the file is damaged: compare it with its source, or fetch it again";

}  // namespace recordpipe
