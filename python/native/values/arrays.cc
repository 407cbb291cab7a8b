#include "python/native/values/arrays.h"

#include <string>

#include "python/native/values/numpy_api.h"
#include "python/native/values/python_object.h"

namespace recordpipe::python {

nb::dlpack::dtype dtype_of(std::string_view name) {
  using Code = nb::dlpack::dtype_code;
  const size_t digits = name.find_first_of("0123456789");
  const std::string_view family = name.substr(0, digits);
  const auto code = family == "uint" || family == "bfloat" ? Code::UInt
                    : family == "float"                    ? Code::Float
                    : family == "complex"                  ? Code::Complex
                    : family == "bool"                     ? Code::Bool
                                                           : Code::Int;
  const int bits = digits == name.npos ? 8 : std::stoi(std::string(name.substr(digits)));
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
}

nb::object array(const void* values, nb::dlpack::dtype dtype, const std::vector<size_t>& shape,
                 nb::handle owner) {
  return numpy_array(const_cast<void*>(values), dtype, shape, owner);
}

nb::object array(const BytesValues& values, const std::vector<size_t>& shape, nb::handle) {
  nb::list list;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::span<const std::byte> value = values[i];
    list.append(bytes_of(value));
  }
  nb::object flat = nb::module_::import_("numpy").attr("array")(list, nb::arg("dtype") = "O");
  nb::list dimensions;
  for (const size_t dimension : shape) dimensions.append(dimension);
  return flat.attr("reshape")(nb::tuple(dimensions));
}

nb::object image_array(std::span<const std::byte> values, const ImageFormat& format,
                       std::optional<size_t> images, nb::handle owner) {
  std::vector<size_t> shape{format.height, format.width, format.channels};
  if (format.layout == Layout::nchw) shape = {format.channels, format.height, format.width};
  if (images) shape.insert(shape.begin(), *images);
  return array(values.data(), dtype_of(to_string(format.dtype)), shape, owner);
}

nb::object ragged(nb::object values, std::span<const int64_t> splits, nb::handle owner) {
  nb::object row_splits = array(splits, {splits.size()}, owner);
  return nb::module_::import_("recordpipe.ragged").attr("Ragged")(values, row_splits);
}

}  // namespace recordpipe::python
