// URLs, sizes and checksums of the published archives.
// https://www.cs.toronto.edu/~kriz/cifar.html
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace recordpipe {

struct PublishedArchive {
  std::string_view url;
  uint64_t bytes;
  std::string_view sha256;
};

// The first entry is the default download.
inline constexpr std::array<PublishedArchive, 4> kPublishedArchives = {{
    {"https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz", 170'498'071,
     "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"},
    {"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", 170'052'171,
     "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"},
    {"https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz", 169'001'437,
     "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"},
    {"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz", 168'513'733,
     "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"},
}};

}  // namespace recordpipe
