// parse_tensor(): the bytes of tf.io.serialize_tensor as a NumPy array.
#include <cstddef>

#include <nanobind/ndarray.h>

#include "python/native/module.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/tensor_proto.h"

namespace recordpipe::python {
namespace {

// `max_repeated_bytes`: of a tensor that repeats its last value, of which a few bytes describe any
// number.
nb::object parse(const nb::bytes& bytes, size_t max_repeated_bytes) {
  const TensorView tensor =
      parse_tensor({static_cast<const std::byte*>(bytes.data()), bytes.size()});
  const size_t size = tensor.size() * size_of(tensor.type());
  if (tensor.stored() < tensor.size() && size > max_repeated_bytes) {
    throw Error({.kind = ErrorKind::limit_exceeded,
                 .reason = "a tensor of " + shape_text(tensor.shape()) + " that repeats one value",
                 .hint = "raise max_repeated_bytes"});
  }
  nb::list shape;
  for (const size_t dimension : tensor.shape()) shape.append(dimension);
  const std::string_view name =
      tensor.type() == TensorType::bfloat16 ? "uint16" : to_string(tensor.type());
  nb::object array = nb::module_::import_("numpy").attr("empty")(nb::tuple(shape),
                                                                 nb::str(name.data(), name.size()));
  const auto view = nb::cast<nb::ndarray<nb::c_contig>>(array);
  tensor.copy_to({static_cast<std::byte*>(view.data()), size});
  return array;
}

}  // namespace

void define_tensor(nb::module_& module) {
  module.def(
      "parse_tensor", &parse,
      nb::sig("def parse_tensor(serialized: bytes, max_repeated_bytes: int, /) -> typing.Any"));
}

}  // namespace recordpipe::python
