// A record of CIFAR-10's TFRecord files, checked and taken apart. Internal: both kinds of batches
// (cifar10_dataset.h, tutorial_batches.h) start from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "recordpipe/record.h"

namespace recordpipe {

struct Cifar10Record {
  std::span<const uint8_t> pixels;  // uint8[3][32][32], where they lie in the record
  int32_t label = 0;                // 0..9
  // Record::owner, which keeps the pixels alive.
  std::shared_ptr<const std::byte[]> owner;
};

// Reads Example{image: bytes[3072], label: int64}. Throws Error{corrupted}, with the record's file
// and offset, for anything else and for a label outside 0..9.
Cifar10Record parse_cifar10_record(Record record);

}  // namespace recordpipe
