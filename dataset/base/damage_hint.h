// What to do about a file whose content contradicts itself, the same words in all errors.
#pragma once

namespace recordpipe {

inline constexpr char kDamagedFileHint[] =
    "the file is damaged: compare it with its source, or fetch it again";

}  // namespace recordpipe
