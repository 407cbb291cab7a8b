// Records in a random order, more of them than fit into memory.
//
//     ExternalShuffle shuffle({.directory = "/tmp", .seed = 7});
//     while (const auto record = reader.read()) shuffle.add(record->data);
//     shuffle.drain([&](std::span<const std::byte> data) { writer.write(data); });
//
// Record i gets a random number of 64 bits that is a function of the seed and i, and they come out
// sorted by it: every permutation is equally likely, and the same seed gives the same one on every
// machine. What doesn't fit is dealt by the first bits of those numbers to 256 nameless temporary
// files (temporary_file.h), each of which is sorted by itself; one that has too many records is
// dealt again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace recordpipe {

struct ExternalShuffleOptions {
  // Where temporary files go, as large as the records together, when there are more than memory
  // holds.
  std::string directory = ".";
  uint64_t seed = 0;
  // About what is taken, in bytes; at least 256 KiB. The largest record comes on top, when records
  // are given back.
  size_t memory = size_t{24} << 20;
};

// Throws what TemporaryFile throws. One thread at a time.
class ExternalShuffle {
 public:
  explicit ExternalShuffle(ExternalShuffleOptions options);
  ~ExternalShuffle();
  ExternalShuffle(ExternalShuffle&&) noexcept;
  ExternalShuffle& operator=(ExternalShuffle&&) noexcept;

  void add(std::span<const std::byte> data) { add(std::span(&data, 1)); }
  // A record in pieces that stand one after another.
  void add(std::span<const std::span<const std::byte>> pieces);
  uint64_t size() const;  // records added
  // Calls visit(data) for each record in their random order; `data` is valid during the call. Once.
  void drain(const std::function<void(std::span<const std::byte> data)>& visit);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
