// Writing .npz files: zip archives of .npy files, stored, without a time, so that the same arrays
// give the same bytes; beyond 4 GiB in zip64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "recordpipe/file.h"

namespace recordpipe {

class NpzWriter {
 public:
  // Writes into `sink` (not owned), and leaves it open.
  explicit NpzWriter(ByteSink& sink);
  ~NpzWriter();
  NpzWriter(const NpzWriter&) = delete;
  NpzWriter& operator=(const NpzWriter&) = delete;

  // Begins the member `name`.npy, `size` bytes long; write() fills it.
  void begin(const std::string& name, uint64_t size);
  void write(std::span<const std::byte> data);
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe
