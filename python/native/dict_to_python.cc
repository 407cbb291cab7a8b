#include "python/native/dict_to_python.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python/native/arrays.h"
#include "recordpipe/dict.h"

namespace recordpipe::python {
namespace {

class Converter {
 public:
  Converter(nb::handle owner, bool single) : owner_(owner), single_(single) {}

  nb::dict of(const Dict& dict) const {
    nb::dict result;
    for (const DictEntry& entry : dict.entries()) {
      const bool is_none = single_ && entry.value.is_missing;
      result[nb::str(entry.name.data(), entry.name.size())] =
          is_none ? nb::none() : nb::object(of(entry.value));
    }
    return result;
  }

 private:
  nb::object of(const DictValue& value) const {
    return value.visit([&](const auto& held) -> nb::object { return of(held); });
  }
  nb::object of(std::monostate) const { return nb::none(); }

  nb::object of(const Array& values) const {
    nb::object all =
        array(values.bytes.data(), dtype_of(to_string(values.type)), values.shape, owner_);
    return values.shape.empty() ? nb::object(all[nb::tuple()]) : all;
  }

  nb::object of(const BytesArray& values) const {
    if (values.shape.empty()) {
      const std::string_view value = values.text();
      return nb::bytes(value.data(), value.size());
    }
    return array(BytesValues(values.bytes.data(), values.splits), values.shape, owner_);
  }

  nb::object of(const RaggedArray& values) const {
    nb::object rows = std::visit([&](const auto& flat) { return of(flat); }, values.values);
    for (size_t i = values.splits.size(); i-- > 0;) {
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
  bool single_;
};

}  // namespace

nb::dict dict_of(const Dict& dict, nb::handle owner) { return Converter(owner, false).of(dict); }

nb::object dict_to_python(std::unique_ptr<ParsedBatch> lent, const std::shared_ptr<LeasePool>& pool,
                          bool single) {
  const Dict& dict = lent->dict;
  const nb::object owner = make_owner(std::move(lent), pool);
  return Converter(owner, single).of(dict);
}

}  // namespace recordpipe::python
