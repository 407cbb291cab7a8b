// Implements read_cifar_pickle(), which validates the dict and converts it into a batch, and the
// Python functions that PickleMachine knows.
#include "dataset/cifar/pickle.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dataset/cifar/pickle_machine.h"
#include "recordpipe/base/error.h"

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

// Validates the dtype, shape and size of `array`, and returns its number of rows.
size_t checked_rows(const PickleInput& input, const PickleArray& array) {
  if (!array.dtype) input.fail_corrupted("the array 'data' was never filled");
  if (array.dtype->name != "u1") {
    input.fail(ErrorKind::unsupported, "'data' has dtype " + printable(array.dtype->name),
               "the pixels are read as uint8: data.astype('uint8')");
  }
  // Checks the bounds first, so that the product can't overflow.
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

// Moves the pixels out of `array` and, if necessary, transposes them to row-major order.
std::unique_ptr<std::byte[]> take_pixels(const PickleArray& array, size_t rows) {
  if (!array.fortran_order) return std::move(array.data->bytes);
  auto pixels = std::make_unique_for_overwrite<std::byte[]>(rows * kCifarImageSize);
  const std::byte* columns = array.data->bytes.get();
  // Transposes in tiles, so that source and destination stay in the cache.
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

namespace {

struct NamedGlobal {
  std::string_view module;
  std::string_view name;
  PickleGlobal global;
};

constexpr NamedGlobal kGlobals[] = {
    {"numpy.core.multiarray", "_reconstruct", PickleGlobal::reconstruct},
    {"numpy._core.multiarray", "_reconstruct", PickleGlobal::reconstruct},
    {"numpy.core.numeric", "_frombuffer", PickleGlobal::frombuffer},
    {"numpy._core.numeric", "_frombuffer", PickleGlobal::frombuffer},
    {"numpy", "ndarray", PickleGlobal::ndarray},
    {"numpy", "dtype", PickleGlobal::dtype},
    {"_codecs", "encode", PickleGlobal::encode},
};

template <class T>
bool is(const PickleValue& value) {
  return std::holds_alternative<T>(value);
}

bool is_global(const PickleValue& value, PickleGlobal wanted) {
  const auto* global = std::get_if<PickleGlobal>(&value);
  return global && *global == wanted;
}

// Returns the string in `value`, or null if `value` is not a string.
const std::string* text_of(const PickleValue& value) {
  const auto* text = std::get_if<std::shared_ptr<const std::string>>(&value);
  return text ? text->get() : nullptr;
}

}  // namespace

void PickleMachine::push_global(std::string_view module, std::string_view name) {
  for (const NamedGlobal& known : kGlobals) {
    if (module == known.module && name == known.name) return push(known.global);
  }
  input_.fail(
      ErrorKind::unsupported, "the global " + printable(module) + "." + printable(name),
      "a CIFAR batch does not need it: this pickle may be malicious; nothing of it was executed");
}

void PickleMachine::reduce() {
  const PickleValue popped = pop();
  const auto* tuple = std::get_if<std::shared_ptr<const PickleTuple>>(&popped);
  if (!tuple) input_.fail_corrupted("arguments that are not a tuple");
  const std::vector<PickleValue>& arguments = (*tuple)->items;
  switch (pop_global()) {
    case PickleGlobal::reconstruct:
      // With (ndarray, (0,), b'b'): creates an array that BUILD will fill.
      if (arguments.size() != 3 || !is_global(arguments[0], PickleGlobal::ndarray)) {
        input_.fail_corrupted("_reconstruct of something that is not an ndarray");
      }
      return push(std::make_shared<PickleArray>());
    case PickleGlobal::dtype:
      return push(make_dtype(arguments));
    case PickleGlobal::frombuffer:
      return push(from_buffer(arguments));
    case PickleGlobal::encode:
      return push(encode(arguments));
    case PickleGlobal::ndarray:
      break;
  }
  input_.fail_corrupted("a call of numpy.ndarray");
}

// dtype('u1', False, True). Python 2 wrote 0 and 1 instead of False and True.
PickleValue PickleMachine::make_dtype(const std::vector<PickleValue>& arguments) {
  const std::string* name = arguments.size() == 3 ? text_of(arguments[0]) : nullptr;
  if (!name) input_.fail_corrupted("a dtype without a name");
  return std::make_shared<PickleDtype>(PickleDtype{*name});
}

// _codecs.encode(text, 'latin1'): how Python 3 writes bytes in protocols without a bytes type.
// Short strings are not converted and stay in UTF-8.
PickleValue PickleMachine::encode(const std::vector<PickleValue>& arguments) {
  const std::string* encoding = arguments.size() == 2 ? text_of(arguments[1]) : nullptr;
  if (!encoding || *encoding != "latin1") {
    input_.fail_corrupted("_codecs.encode with another encoding than latin1");
  }
  if (!text_of(arguments[0]) && !is<std::shared_ptr<PickleBlob>>(arguments[0])) {
    input_.fail_corrupted("_codecs.encode of something that is not a string");
  }
  return arguments[0];
}

// _frombuffer(bytes, dtype, shape, 'C' or 'F')
PickleValue PickleMachine::from_buffer(const std::vector<PickleValue>& arguments) {
  if (arguments.size() != 4) input_.fail_corrupted("_frombuffer without its four arguments");
  const auto* dtype = std::get_if<std::shared_ptr<PickleDtype>>(&arguments[1]);
  const std::string* order = text_of(arguments[3]);
  if (!dtype || !order || (*order != "C" && *order != "F")) {
    input_.fail_corrupted("_frombuffer with arguments of other types");
  }
  return std::make_shared<PickleArray>(PickleArray{.shape = shape_of(arguments[2]),
                                                   .dtype = *dtype,
                                                   .fortran_order = *order == "F",
                                                   .data = data_of(arguments[0])});
}

void PickleMachine::build() {
  const PickleValue popped = pop();
  const auto* state = std::get_if<std::shared_ptr<const PickleTuple>>(&popped);
  if (!state) input_.fail_corrupted("BUILD with a state that is not a tuple");
  const PickleValue object = pop();
  if (const auto* array = std::get_if<std::shared_ptr<PickleArray>>(&object)) {
    build_array(**array, (*state)->items);
  } else if (is<std::shared_ptr<PickleDtype>>(object)) {
    check_dtype_state((*state)->items);
  } else {
    input_.fail_corrupted("BUILD of something that is neither an array nor a dtype");
  }
  push(object);
}

// `state` is (1, shape, dtype, is_fortran_order, bytes).
void PickleMachine::build_array(PickleArray& array, const std::vector<PickleValue>& state) {
  if (array.dtype) input_.fail_corrupted("an array built twice");
  if (state.size() != 5 || !is<int64_t>(state[0]) || !is<int64_t>(state[3])) {
    input_.fail_corrupted("an array state of another form");
  }
  const auto* dtype = std::get_if<std::shared_ptr<PickleDtype>>(&state[2]);
  if (!dtype) input_.fail_corrupted("an array without a dtype");
  if (is<std::shared_ptr<PickleList>>(state[4])) {
    input_.fail(ErrorKind::unsupported,
                "an array of objects (dtype " + printable((*dtype)->name) + ")",
                "the pixels are read as uint8: data.astype('uint8')");
  }
  array.shape = shape_of(state[1]);
  array.dtype = *dtype;
  array.fortran_order = std::get<int64_t>(state[3]) != 0;
  array.data = data_of(state[4]);
}

// `state` is (3, byte order, None, None, None, -1, -1, 0): no subarray, no fields.
void PickleMachine::check_dtype_state(const std::vector<PickleValue>& state) {
  if (state.size() < 5 || !text_of(state[1]) || !is<PickleNone>(state[2]) ||
      !is<PickleNone>(state[3]) || !is<PickleNone>(state[4])) {
    input_.fail(ErrorKind::unsupported, "a dtype with fields",
                "the pixels are read as uint8: data.astype('uint8')");
  }
}

std::vector<int64_t> PickleMachine::shape_of(const PickleValue& value) {
  const auto* tuple = std::get_if<std::shared_ptr<const PickleTuple>>(&value);
  if (!tuple) input_.fail_corrupted("a shape that is not a tuple");
  std::vector<int64_t> shape;
  for (const PickleValue& item : (*tuple)->items) {
    const auto* extent = std::get_if<int64_t>(&item);
    if (!extent) input_.fail_corrupted("a shape with values other than numbers");
    shape.push_back(*extent);
  }
  return shape;
}

std::shared_ptr<PickleBlob> PickleMachine::data_of(const PickleValue& value) {
  if (const auto* blob = std::get_if<std::shared_ptr<PickleBlob>>(&value)) return *blob;
  if (!text_of(value)) input_.fail_corrupted("an array whose data is not bytes");
  return nullptr;  // too short to be pixels
}

PickleGlobal PickleMachine::pop_global() {
  const PickleValue value = pop();
  const auto* global = std::get_if<PickleGlobal>(&value);
  if (!global) input_.fail_corrupted("a call of something that is not a function");
  return *global;
}

}  // namespace recordpipe
