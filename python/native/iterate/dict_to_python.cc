#include "python/native/iterate/dict_to_python.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

}  // namespace

nb::dict dict_of(const Dict& dict, nb::handle owner) { return Converter(owner).of(dict); }

nb::object dict_to_python(std::unique_ptr<ParsedBatch> lent, const std::shared_ptr<LeasePool>& pool,
                          bool single) {
  const Dict& dict = lent->tfds.columns;
  const nb::object owner = make_owner(std::move(lent), pool);
  const Converter converter(owner);
  return single ? converter.row_of(dict) : converter.of(dict);
}

}  // namespace recordpipe::python
