// Shuffles records that do not fit in memory.
//
//     ExternalShuffle shuffle({.directory = "/tmp", .seed = 7});
//     while (const auto record = reader.read()) shuffle.add(record->data);
//     shuffle.drain([&](std::span<const std::byte> data) { writer.write(data); });
//
// Record i gets a 64-bit random key, which depends only on the seed and i; records are returned in
// the order of their keys. Every permutation is equally likely, and the same seed gives the same
// permutation on every machine. If the records do not fit in memory, they are partitioned by the
// first bits of their keys into 256 unnamed temporary files (temporary_file.h), and each file is
// sorted separately; a file with too many records is partitioned again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace recordpipe {

struct ExternalShuffleOptions {
  // Directory for temporary files. If the records do not fit in memory, the files take as much
  // space as all records.
  std::string directory = ".";
  uint64_t seed = 0;
  // Approximate memory limit, in bytes; at least 256 KiB. drain() takes additional memory for the
  // largest record.
  size_t memory = size_t{24} << 20;
};

// Throws the errors of TemporaryFile. Not thread-safe.
class ExternalShuffle {
 public:
  explicit ExternalShuffle(ExternalShuffleOptions options);
  ~ExternalShuffle();
  ExternalShuffle(ExternalShuffle&&) noexcept;
  ExternalShuffle& operator=(ExternalShuffle&&) noexcept;

  void add(std::span<const std::byte> data) { add(std::span(&data, 1)); }
  // Adds a record that is given as consecutive pieces.
  void add(std::span<const std::span<const std::byte>> pieces);
  uint64_t size() const;  // number of records added
  // Calls visit(data) for each record in random order; `data` is valid during the call. Must be
  // called at most once.
  void drain(const std::function<void(std::span<const std::byte> data)>& visit);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
