// PickleMachine: the supported globals, and REDUCE and BUILD on them.
#include <utility>

#include "dataset/applications/cifar/pickle_machine.h"
#include "recordpipe/error.h"

namespace recordpipe {
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

// The string in `value`, or null.
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
      // (ndarray, (0,), b'b'): an array to be filled by BUILD.
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

// dtype('u1', False, True); Python 2 wrote 0 and 1.
PickleValue PickleMachine::make_dtype(const std::vector<PickleValue>& arguments) {
  const std::string* name = arguments.size() == 3 ? text_of(arguments[0]) : nullptr;
  if (!name) input_.fail_corrupted("a dtype without a name");
  return std::make_shared<PickleDtype>(PickleDtype{*name});
}

// _codecs.encode(text, 'latin1'): Python 3's encoding of bytes in protocols without a bytes type.
// Short strings stay in UTF-8.
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

// (1, shape, dtype, is Fortran order, bytes)
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

// (3, byte order, None, None, None, -1, -1, 0): no fields, no subarray.
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
