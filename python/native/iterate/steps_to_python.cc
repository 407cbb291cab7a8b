#include "python/native/iterate/steps_to_python.h"

#include <string>

#include "python/native/iterate/dict_to_python.h"
#include "python/native/values/arrays.h"

namespace recordpipe::python {
namespace {

nb::str key_text(std::string_view name) { return nb::str(name.data(), name.size()); }

// Sets an item of nested dicts by its path, whose names are there.
void set_at(nb::dict dict, std::string_view path, const nb::object& value) {
  for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    dict = nb::cast<nb::dict>(dict[key_text(path.substr(0, slash))]);
    path.remove_prefix(slash + 1);
  }
  dict[key_text(path)] = value;
}

// [rows, window, height, width, channels] of [rows * window, height, width, channels].
nb::object windows_of(const nb::object& images, size_t rows, size_t window) {
  nb::list shape;
  shape.append(rows);
  shape.append(window);
  const nb::object all = images.attr("shape");
  for (size_t i = 1; i < nb::len(all); ++i) shape.append(all[i]);
  return images.attr("reshape")(nb::tuple(shape));
}

nb::object first_rows(const nb::object& value) {
  if (!nb::isinstance<nb::dict>(value)) return value[0];
  nb::dict result;
  for (const auto& [name, inner] : nb::cast<nb::dict>(value)) {
    result[name] = first_rows(nb::borrow(inner));
  }
  return result;
}

}  // namespace

nb::object steps_to_python(const rlds::StepBatch& batch, const rlds::StepCollator& collator,
                           nb::handle owner, bool single) {
  nb::dict result = dict_of(batch.columns, owner);
  for (size_t i = 0; i < collator.images().size(); ++i) {
    const std::string& name = collator.images()[i].spec().feature;
    const ImageBatch& pixels = batch.images[i].batch;
    nb::object images = image_array(pixels.bytes(), pixels.format(), pixels.size(), owner);
    for (const rlds::StepColumn& column : collator.reader().columns()) {
      if (column.name == name && column.window) {
        images = windows_of(images, batch.rows, *column.window);
      }
    }
    set_at(result, name, images);
  }
  return single ? first_rows(result) : nb::object(std::move(result));
}

}  // namespace recordpipe::python
