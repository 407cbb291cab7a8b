// Serialises CIFAR images as Examples for split_writer.h; parses and validates such Examples for
// cifar10_dataset.h and tutorial_batches.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "recordpipe/cifar/cifar_batch.h"
#include "recordpipe/record/record.h"

namespace recordpipe {

// Appends image `row` of `batch` as Example{image: bytes[3072], label: int64}. If the batch has
// coarse labels, the Example also has coarse_label and fine_label (equal to label).
void append_cifar_example(const CifarBatch& batch, size_t row, std::string& out);

struct Cifar10Record {
  std::span<const uint8_t> pixels;  // uint8[3][32][32], a view into the record
  int32_t label = 0;                // 0..9
  // Record::owner, which owns the pixels.
  std::shared_ptr<const std::byte[]> owner;
};

// Parses Example{image: bytes[3072], label: int64}. Throws Error{corrupted}, with the record's path
// and offset, for any other content and for a label outside 0..9.
Cifar10Record parse_cifar10_record(Record record);

}  // namespace recordpipe
