// Damages byte strings like a fuzzer. The same seed gives the same damage.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace recordpipe {

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // Returns a number below n > 0.
  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }

  // Returns `bytes` with one to four changes: flipped bits, set, removed, repeated or inserted
  // bytes, a truncated end, a part of `other` inserted.
  std::string mutate(std::string bytes, std::string_view other) {
    for (size_t changes = 1 + below(4); changes > 0; --changes) change(bytes, other);
    return bytes;
  }

 private:
  void change(std::string& bytes, std::string_view other) {
    const size_t at = below(bytes.size() + 1);
    const size_t length = below(bytes.size() - at + 1);
    switch (below(8)) {
      case 0:
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8));
        break;
      case 2:
        if (at < bytes.size()) bytes[at] = edge_byte();
        break;
      case 3:
        bytes.erase(at, 1 + below(4));
        break;
      case 4:
        bytes.insert(at, 1 + below(4), edge_byte());
        break;
      case 5:
        bytes.insert(below(bytes.size() + 1), bytes.substr(at, std::min<size_t>(length, 64)));
        break;
      case 6:
        if (below(4) == 0) bytes.resize(at);
        break;
      case 7: {
        const size_t from = below(other.size() + 1);
        bytes.insert(at, other.substr(from, below(32)));
        break;
      }
    }
  }

  // Returns a random byte, often one that is significant in length prefixes, varints and tags.
  char edge_byte() {
    static constexpr std::string_view kEdges("\x00\x01\x7f\x80\xff\x0a\x12\x1a\x08\x0b\x0c\x78",
                                             12);
    return below(2) == 0 ? kEdges[below(kEdges.size())] : static_cast<char>(random_());
  }

  std::mt19937_64 random_;
};

}  // namespace recordpipe
