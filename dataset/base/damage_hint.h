// The hint that errors about damaged files share.
#pragma once

namespace recordpipe {

inline constexpr char kDamagedFileHint[] =
    "the file is damaged: compare it with its source, or fetch it again";

}  // namespace recordpipe
