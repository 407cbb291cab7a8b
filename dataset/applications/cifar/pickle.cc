// read_cifar_pickle(): validates the dict and converts it to a batch.
#include "dataset/applications/cifar/pickle.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dataset/applications/cifar/pickle_input.h"
#include "dataset/applications/cifar/pickle_machine.h"

namespace recordpipe {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

// The number of rows of the array, after validation of its dtype, shape and size.
size_t checked_rows(const PickleInput& input, const PickleArray& array) {
  if (!array.dtype) input.fail_corrupted("the array 'data' was never filled");
  if (array.dtype->name != "u1") {
    input.fail(ErrorKind::unsupported, "'data' has dtype " + printable(array.dtype->name),
               "the pixels are read as uint8: data.astype('uint8')");
  }
  // Bounds are checked first, so that the product can't overflow.
  if (array.shape.size() != 2 || array.shape[1] != static_cast<int64_t>(kCifarImageSize) ||
      array.shape[0] < 1 || array.shape[0] > static_cast<int64_t>(kMaxCifarRows)) {
    input.fail_corrupted("'data' has the shape " + shape_text(array.shape) +
                         ", not [rows, 3072] with 1 to " + std::to_string(kMaxCifarRows) + " rows");
  }
  const auto rows = static_cast<size_t>(array.shape[0]);
  const size_t bytes = array.data ? array.data->size : 0;
  if (bytes != rows * kCifarImageSize) {
    input.fail_corrupted("'data' has " + std::to_string(bytes) + " bytes for the shape " +
                         shape_text(array.shape));
  }
  return rows;
}

std::vector<uint8_t> checked_labels(const PickleInput& input, const PickleList* list,
                                    const char* name, size_t rows, int classes) {
  const std::string quoted = std::string("'").append(name).append("'");
  if (!list) {
    input.fail(ErrorKind::corrupted, "no " + quoted,
               "the batch may belong to the other dataset (CIFAR-10 or CIFAR-100)");
  }
  if (list->others != 0) {
    input.fail(ErrorKind::unsupported, quoted + " holds values other than ints",
               "labels are read as a list of ints: [int(x) for x in labels]");
  }
  if (list->numbers.size() != rows) {
    input.fail_corrupted(std::to_string(list->numbers.size()) + " " + name + " for " +
                         std::to_string(rows) + " images");
  }
  std::vector<uint8_t> labels;
  labels.reserve(rows);
  for (const int64_t label : list->numbers) {
    if (label < 0 || label >= classes) {
      input.fail_corrupted("label " + std::to_string(label) + " of image " +
                           std::to_string(labels.size()) + " in " + quoted + " is not in 0.." +
                           std::to_string(classes - 1));
    }
    labels.push_back(static_cast<uint8_t>(label));
  }
  return labels;
}

// Moves the pixels out of the array, transposed to row-major if necessary.
std::unique_ptr<std::byte[]> take_pixels(const PickleArray& array, size_t rows) {
  if (!array.fortran_order) return std::move(array.data->bytes);
  auto pixels = std::make_unique_for_overwrite<std::byte[]>(rows * kCifarImageSize);
  const std::byte* columns = array.data->bytes.get();
  // In tiles, so that both sides stay in the cache.
  constexpr size_t kTile = 64;
  for (size_t row0 = 0; row0 < rows; row0 += kTile) {
    const size_t row_end = std::min(rows, row0 + kTile);
    for (size_t column0 = 0; column0 < kCifarImageSize; column0 += kTile) {
      for (size_t row = row0; row < row_end; ++row) {
        for (size_t column = column0; column < column0 + kTile; ++column) {
          pixels[row * kCifarImageSize + column] = columns[column * rows + row];
        }
      }
    }
  }
  return pixels;
}

}  // namespace

CifarBatch read_cifar_pickle(ByteSource& source, uint64_t size, CifarDataset dataset) {
  PickleInput input(source, size);
  const auto dict = PickleMachine(input).run();
  if (!dict->data) input.fail_corrupted("no 'data'");
  const size_t rows = checked_rows(input, *dict->data);
  CifarBatch batch;
  if (dataset == CifarDataset::cifar10) {
    batch.labels = checked_labels(input, dict->labels.get(), "labels", rows, kCifar10Classes);
  } else {
    batch.labels =
        checked_labels(input, dict->fine_labels.get(), "fine_labels", rows, kCifar100Classes);
    batch.coarse_labels = checked_labels(input, dict->coarse_labels.get(), "coarse_labels", rows,
                                         kCifar100Superclasses);
  }
  input.begin_opcode();
  if (!input.at_end()) input.fail_corrupted("bytes after STOP");
  batch.pixels = take_pixels(*dict->data, rows);
  return batch;
}

}  // namespace recordpipe
