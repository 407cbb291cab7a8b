#include "dataset/cifar/binary_batch.h"

#include <array>
#include <string>
#include <utility>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

[[noreturn]] void fail(const ByteSource& source, ErrorKind kind, uint64_t offset,
                       std::string reason) {
  throw Error({.kind = kind,
               .path = source.path(),
               .offset = offset,
               .reason = std::move(reason),
               .hint = "this is not a CIFAR batch in the published format"});
}

void read_exactly(ByteSource& source, uint64_t offset, std::span<std::byte> out) {
  if (read_fully(source, out) != out.size()) {
    fail(source, ErrorKind::truncated, offset, "the file ends inside the record");
  }
}

uint8_t checked_label(const ByteSource& source, uint64_t offset, std::byte label, int classes) {
  const auto value = std::to_integer<uint8_t>(label);
  if (value >= classes) {
    fail(source, ErrorKind::corrupted, offset,
         "label " + std::to_string(value) + " is not in 0.." + std::to_string(classes - 1));
  }
  return value;
}

}  // namespace

CifarBatch read_cifar_binary(ByteSource& source, uint64_t size, CifarDataset dataset) {
  const size_t label_size = dataset == CifarDataset::cifar10 ? 1 : 2;
  const uint64_t record_size = label_size + kCifarImageSize;
  if (size == 0 || size % record_size != 0) {
    fail(source, ErrorKind::corrupted, size - size % record_size,
         std::to_string(size) + " bytes are not a multiple of the record size of " +
             std::to_string(record_size));
  }
  if (size / record_size > kMaxCifarRows) {
    fail(source, ErrorKind::limit_exceeded, 0,
         "more than " + std::to_string(kMaxCifarRows) + " records");
  }
  const size_t rows = size / record_size;
  CifarBatch batch;
  batch.labels.reserve(rows);
  batch.pixels = std::make_unique_for_overwrite<std::byte[]>(rows * kCifarImageSize);
  std::array<std::byte, 2> labels;
  for (size_t row = 0; row < rows; ++row) {
    const uint64_t offset = row * record_size;
    read_exactly(source, offset, std::span(labels).first(label_size));
    if (dataset == CifarDataset::cifar10) {
      batch.labels.push_back(checked_label(source, offset, labels[0], kCifar10Classes));
    } else {
      batch.coarse_labels.push_back(
          checked_label(source, offset, labels[0], kCifar100Superclasses));
      batch.labels.push_back(checked_label(source, offset, labels[1], kCifar100Classes));
    }
    read_exactly(source, offset, {batch.pixels.get() + row * kCifarImageSize, kCifarImageSize});
  }
  return batch;
}

}  // namespace recordpipe
