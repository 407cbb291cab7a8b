// How much of an input was read, before anything is inflated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "recordpipe/file.h"

namespace recordpipe {

class CountingSource final : public ByteSource {
 public:
  // Adds to `count`, which must live as long, what is read.
  CountingSource(std::unique_ptr<ByteSource> source, uint64_t& count)
      : source_(std::move(source)), count_(count) {}

  size_t read(std::span<std::byte> out) override {
    const size_t size = source_->read(out);
    count_ += size;
    return size;
  }
  const std::string& path() const override { return source_->path(); }

 private:
  const std::unique_ptr<ByteSource> source_;
  uint64_t& count_;
};

}  // namespace recordpipe
