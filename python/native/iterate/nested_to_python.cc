#include "python/native/iterate/nested_to_python.h"

#include <string>
#include <string_view>
#include <utility>

#include "python/native/values/arrays.h"
#include "python/native/values/python_object.h"
#include "recordpipe/example/dict.h"

namespace recordpipe::python {
namespace {

class Converter {
 public:
  explicit Converter(nb::handle owner) : owner_(owner) {}

  nb::dict of(const Dict& dict) const {
    nb::dict result;
    for (const DictEntry& entry : dict.entries()) {
      result[name_of(entry)] = of(entry.value);
    }
    return result;
  }

  // The only row of a batch.
  nb::dict row_of(const Dict& columns) const {
    nb::dict result;
    const std::span<const DictEntry> entries = columns.entries();
    for (size_t i = 0; i < entries.size(); ++i) {
      const nb::str name = name_of(entries[i]);
      const DictValue& value = entries[i].value;
      if (!value.is_optional) {
        result[name] = row_of(value);
        continue;
      }
      const bool is_present = entries[++i].value.array().values<bool>()[0];  // the mask
      result[name] = is_present ? row_of(value) : nb::none();
    }
    return result;
  }

 private:
  static nb::str name_of(const DictEntry& entry) {
    return nb::str(entry.name.data(), entry.name.size());
  }

  nb::object row_of(const DictValue& column) const {
    if (const Dict* dict = column.get_if<Dict>()) return row_of(*dict);
    if (const auto* list = column.get_if<DictValue::List>()) return of(list->front());
    if (const auto* rows = column.get_if<RaggedArray>()) return of(*rows, 1);
    return column.visit([&](const auto& dense) -> nb::object { return nb::object(of(dense))[0]; });
  }

  nb::object of(const DictValue& value) const {
    return value.visit([&](const auto& held) -> nb::object { return of(held); });
  }
  nb::object of(std::monostate) const { return nb::none(); }

  nb::object of(const Array& values) const {
    return array(values.bytes.data(), dtype_of(to_string(values.type)), values.shape, owner_);
  }

  nb::object of(const BytesArray& values) const {
    if (values.shape.empty()) {
      const std::string_view value = values.text();
      return bytes_of(value);
    }
    return array(BytesValues(values.bytes.data(), values.splits), values.shape, owner_);
  }

  // Without the outermost `skipped` dimensions.
  nb::object of(const RaggedArray& values, size_t skipped = 0) const {
    nb::object rows = std::visit([&](const auto& flat) { return of(flat); }, values.values);
    for (size_t i = values.splits.size(); i-- > skipped;) {
      rows = ragged(std::move(rows), values.splits[i], owner_);
    }
    return rows;
  }

  nb::object of(const DictValue::List& values) const {
    nb::list list;
    for (const DictValue& value : values) list.append(of(value));
    return list;
  }

  nb::handle owner_;
};

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

nb::dict dict_of(const Dict& dict, nb::handle owner) { return Converter(owner).of(dict); }

nb::object dict_to_python(std::unique_ptr<ParsedBatch> lent, const std::shared_ptr<LeasePool>& pool,
                          bool single) {
  const Dict& dict = lent->tfds.columns;
  const nb::object owner = make_owner(std::move(lent), pool);
  const Converter converter(owner);
  return single ? converter.row_of(dict) : converter.of(dict);
}

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
