// The types of columns, and the checks of their arrays.
#include "python/native/arrow/arrow_column.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "dataset/base/parse_number.h"
#include "dataset/example/feature_name.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/utf8.h"

namespace recordpipe::python {
namespace {

// The number in "+w:12"; -1 if there is none.
int64_t width_of(std::string_view format) {
  format.remove_prefix(format.find(':') + 1);
  return parse_number<int64_t>(format).value_or(-1);
}

std::string described(std::string_view format) {
  if (format.starts_with("+s")) return "a struct";
  if (format.starts_with("+m")) return "a map";
  if (format.starts_with("+u")) return "a union";
  if (format.starts_with("+r")) return "run-end encoded";
  if (format.starts_with("ts")) return "a timestamp";
  if (format.starts_with("td")) return "a date";
  if (format.starts_with("tt")) return "a time";
  if (format.starts_with("tD")) return "a duration";
  if (format.starts_with("ti")) return "an interval";
  if (format.starts_with("d:")) return "a decimal";
  if (format.starts_with("+")) return "a nested list";
  return "of the Arrow type '" + printable(format) + "'";
}

}  // namespace

// Metadata is a number of pairs of a key and a value, each after its size; numbers are int32 in the
// machine's byte order.
std::optional<std::string_view> metadata_of(const ArrowSchema& schema, std::string_view key) {
  const char* at = schema.metadata;
  const auto number = [&at] {
    int32_t value;
    std::memcpy(&value, at, sizeof value);
    at += sizeof value;
    return std::max(value, 0);
  };
  const auto text = [&] {
    const auto size = static_cast<size_t>(number());
    return std::string_view(std::exchange(at, at + size), size);
  };
  for (int32_t pairs = at ? number() : 0; pairs > 0; --pairs) {
    const std::string_view name = text();
    const std::string_view value = text();
    if (name == key) return value;
  }
  return std::nullopt;
}

std::optional<ArrowColumn::Struct> ArrowColumn::file_of(const ArrowSchema& schema) {
  if (!schema.format || std::string_view(schema.format) != "+s" || schema.n_children != 2 ||
      !schema.children) {
    return std::nullopt;
  }
  const auto is_named = [&](int64_t child, std::string_view name) {
    return schema.children[child] && schema.children[child]->name &&
           schema.children[child]->name == name;
  };
  for (const int64_t bytes : {0, 1}) {
    if (is_named(bytes, "bytes") && is_named(1 - bytes, "path")) {
      return Struct{.members = 2, .bytes = bytes, .path = 1 - bytes};
    }
  }
  return std::nullopt;
}

std::vector<ArrowColumn> ArrowColumn::of(const ArrowSchema& schema, LargeIntegers large) {
  const std::string name = schema.name ? schema.name : "";
  std::vector<ArrowColumn> columns;
  if (const auto file = file_of(schema)) {
    for (const bool is_path : {false, true}) {
      const ArrowSchema& member = *schema.children[is_path ? file->path : file->bytes];
      columns.push_back(ArrowColumn(member, is_path ? name + "/path" : name, large));
      columns.back().struct_ = file;
      columns.back().struct_->is_path = is_path;
    }
  } else {
    columns.push_back(ArrowColumn(schema, name, large));
  }
  return columns;
}

ArrowColumn::ArrowColumn(const ArrowSchema& schema, std::string name, LargeIntegers large)
    : name_(std::move(name)), large_(large) {
  if (!is_utf8(name_)) {
    damaged("a name that is not UTF-8 at byte " + std::to_string(utf8_size(name_) + 1));
  }
  const ArrowSchema* field = &schema;
  while (const auto list = list_of(*field)) {
    if (!lists_.empty() &&
        (list->type != ListType::fixed || lists_.front().type != ListType::fixed)) {
      refuse("is a nested list", "flatten it");
    }
    lists_.push_back(*list);
    if (field->n_children != 1 || !field->children || !field->children[0]) {
      damaged("a list type without an item type");
    }
    field = field->children[0];
  }
  values_ = values_of(*field);
  if (!field->dictionary) return;
  if (values_.type < ValueType::int8 || values_.type > ValueType::uint64) {
    damaged("a dictionary whose indexes are not integers");
  }
  indexes_ = values_;
  if (field->dictionary->dictionary) refuse("has a dictionary of dictionaries", "decode it");
  values_ = values_of(*field->dictionary);
}

std::optional<ArrowColumn::List> ArrowColumn::list_of(const ArrowSchema& schema) const {
  const std::string_view format = schema.format ? schema.format : "";
  if (format == "+l") return List{ListType::list};
  if (format == "+L") return List{ListType::large_list};
  if (format == "+vl") return List{ListType::list_view};
  if (format == "+vL") return List{ListType::large_list_view};
  if (!format.starts_with("+w:")) return std::nullopt;
  const int64_t width = width_of(format);
  if (width < 0) damaged("the type '" + printable(format) + "'");
  return List{ListType::fixed, width};
}

ArrowColumn::Values ArrowColumn::values_of(const ArrowSchema& schema) const {
  const std::string_view format = schema.format ? schema.format : "";
  if (metadata_of(schema, "ARROW:extension:name") == "ray.data.arrow_pickled_object") {
    refuse("holds pickled Python objects, and features hold integers, floats and bytes",
           "recordpipe.ray.write_tfrecords() writes those that are such values");
  }
  static constexpr std::pair<std::string_view, ValueType> kTypes[] = {
      {"n", ValueType::null},         {"b", ValueType::boolean},
      {"c", ValueType::int8},         {"C", ValueType::uint8},
      {"s", ValueType::int16},        {"S", ValueType::uint16},
      {"i", ValueType::int32},        {"I", ValueType::uint32},
      {"l", ValueType::int64},        {"L", ValueType::uint64},
      {"e", ValueType::float16},      {"f", ValueType::float32},
      {"g", ValueType::float64},      {"z", ValueType::binary},
      {"u", ValueType::binary},       {"Z", ValueType::large_binary},
      {"U", ValueType::large_binary}, {"vz", ValueType::binary_view},
      {"vu", ValueType::binary_view},
  };
  for (const auto& [name, type] : kTypes) {
    if (format == name) return {.type = type};
  }
  if (format.starts_with("w:")) {
    const int64_t width = width_of(format);
    if (width < 0) damaged("the type '" + printable(format) + "'");
    return {.type = ValueType::fixed_binary, .width = width};
  }
  refuse("is " + described(format) + ", and features hold integers, floats and bytes",
         "cast the column, or leave it out");
}

void ArrowColumn::check_array(const ArrowArray* array, int64_t buffers, int64_t children) const {
  if (!array || array->length < 0 || array->offset < 0 ||
      array->length > std::numeric_limits<int64_t>::max() - array->offset) {
    damaged("an array without a length");
  }
  if (array->n_buffers < buffers || (array->n_buffers > 0 && !array->buffers)) {
    damaged("an array of " + std::to_string(array->n_buffers) + " buffers, not " +
            std::to_string(buffers));
  }
  if (array->n_children != children || (children > 0 && !array->children)) {
    damaged("an array of " + std::to_string(array->n_children) + " children, not " +
            std::to_string(children));
  }
}

void ArrowColumn::bind(const ArrowArray* array, int64_t rows) {
  if (struct_) {
    check_array(array, 1, struct_->members);
    if (array->length < rows) damaged("a struct array with too few rows");
    struct_->array = array;
    rows += array->offset;
    array = array->children[struct_->is_path ? struct_->path : struct_->bytes];
  }
  const ArrowArray* const column = array;
  for (List& list : lists_) {
    const bool is_view = list.type == ListType::list_view || list.type == ListType::large_list_view;
    const int64_t buffers = list.type == ListType::fixed ? 1 : is_view ? 3 : 2;
    check_array(array, buffers, 1);
    for (int64_t i = 1; i < buffers && array->length > 0; ++i) {
      if (!array->buffers[i]) damaged("a list array without offsets");
    }
    list.array = array;
    array = array->children[0];
  }
  if (indexes_) {
    bind_values(*indexes_, array);
    bind_values(values_, array->dictionary);
  } else {
    bind_values(values_, array);
  }
  if (column->length < rows) {
    damaged("a column of " + std::to_string(column->length) + " rows in a batch of " +
            std::to_string(rows));
  }
}

void ArrowColumn::bind_values(Values& values, const ArrowArray* array) {
  const bool has_offsets =
      values.type == ValueType::binary || values.type == ValueType::large_binary;
  const bool is_view = values.type == ValueType::binary_view;
  const int64_t buffers = values.type == ValueType::null ? 0 : has_offsets || is_view ? 3 : 2;
  check_array(array, buffers, 0);
  if (buffers > 0 && array->length > 0 && !array->buffers[1] &&
      !(values.type == ValueType::fixed_binary && values.width == 0)) {
    damaged("an array without values");
  }
  values.array = array;
}

void ArrowColumn::refuse(const std::string& reason, const std::string& hint) const {
  throw Error({.kind = ErrorKind::unsupported,
               .reason = "column '" + printable(name_) + "' " + reason,
               .hint = hint});
}

void ArrowColumn::refuse_row(const std::string& reason, const std::string& hint) const {
  throw Error({.kind = ErrorKind::unsupported,
               .reason = "column '" + printable(name_) + "', row " + std::to_string(number_) +
                         ": " + reason + ", which a feature can't hold",
               .hint = hint});
}

void ArrowColumn::damaged(const std::string& reason) const {
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "column '" + printable(name_) + "': " + reason});
}

}  // namespace recordpipe::python
