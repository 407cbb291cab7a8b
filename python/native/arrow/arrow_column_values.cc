// The values of a row of a column, as a feature.
#include <limits>

#include "dataset/example/nearest_float.h"
#include "python/native/arrow/arrow_buffers.h"
#include "python/native/arrow/arrow_column.h"
#include "recordpipe/base/parameter.h"
#include "recordpipe/example/internal/feature_writer.h"

namespace recordpipe::python {

std::optional<int64_t> ArrowColumn::row_in_struct(int64_t row) const {
  if (!struct_) return row;
  const int64_t place = struct_->array->offset + row;
  if (is_null(*struct_->array, place)) return std::nullopt;
  return place;
}

void ArrowColumn::check_no_path(int64_t row) const {
  const ArrowArray* const path = struct_->array->children[struct_->path];
  if (!path || path->length <= row || path->n_buffers == 0) return;
  if (is_null(*path, path->offset + row)) return;
  refuse_row("the path of a file, without its bytes",
             "store the bytes in the table: datasets' to_parquet() does");
}

std::optional<ArrowColumn::Range> ArrowColumn::range_of(int64_t row) const {
  Range range{row, 1};
  bool is_row = true;
  const auto any_null = [&](const ArrowArray& array) {
    if (array.null_count == 0 || array.n_buffers == 0 || !array.buffers[0]) return false;
    for (int64_t i = 0; i < range.count; ++i) {
      if (is_null(array, array.offset + range.begin + i)) return true;
    }
    return false;
  };
  for (const List& list : lists_) {
    if (any_null(*list.array)) {
      if (is_row) return std::nullopt;
      refuse_row("a null in a list");
    }
    is_row = false;
    range = items_of(list, range);
    const ArrowArray& items = *list.array->children[0];
    if (range.begin < 0 || range.count < 0 || range.begin > items.length - range.count) {
      damaged("a list beyond the end of its items");
    }
  }
  const ArrowArray& values = indexes_ ? *indexes_->array : *values_.array;
  bool null = any_null(values);
  if (values_.type == ValueType::null) null = range.count > 0;
  for (int64_t i = 0; indexes_ && !null && i < range.count; ++i) {
    const int64_t place = place_of(values.offset + range.begin + i);
    null = values_.type == ValueType::null || is_null(*values_.array, place);
  }
  if (!null) return Range{values.offset + range.begin, range.count};
  if (is_row) return std::nullopt;
  refuse_row("a null in a list");
}

ArrowColumn::Range ArrowColumn::items_of(const List& list, Range range) const {
  const ArrowArray& array = *list.array;
  const int64_t place = array.offset + range.begin;
  const auto from_offsets = [&]<class T>(T) -> Range {
    const int64_t begin = load<T>(array.buffers[1], place);
    const int64_t end = load<T>(array.buffers[1], place + 1);
    if (begin < 0 || end < begin) damaged("list offsets that decrease");
    return {begin, end - begin};
  };
  switch (list.type) {
    case ListType::list:
      return from_offsets(int32_t());
    case ListType::large_list:
      return from_offsets(int64_t());
    case ListType::list_view:
      return {load<int32_t>(array.buffers[1], place), load<int32_t>(array.buffers[2], place)};
    case ListType::large_list_view:
      return {load<int64_t>(array.buffers[1], place), load<int64_t>(array.buffers[2], place)};
    case ListType::fixed:
      break;
  }
  Range items;
  if (__builtin_mul_overflow(place, list.width, &items.begin) ||
      __builtin_mul_overflow(range.count, list.width, &items.count)) {
    damaged("a list beyond the end of its items");
  }
  return items;
}

int64_t ArrowColumn::place_of(int64_t i) const {
  if (!indexes_) return i;
  const int64_t index = integer(*indexes_, i);
  if (index < 0 || index >= values_.array->length) damaged("an index beyond its dictionary");
  return values_.array->offset + index;
}

int64_t ArrowColumn::integer(const Values& values, int64_t place) const {
  const void* const buffer = values.array->buffers[1];
  switch (values.type) {
    case ValueType::boolean:
      return bit(buffer, place) ? 1 : 0;
    case ValueType::int8:
      return load<int8_t>(buffer, place);
    case ValueType::uint8:
      return load<uint8_t>(buffer, place);
    case ValueType::int16:
      return load<int16_t>(buffer, place);
    case ValueType::uint16:
      return load<uint16_t>(buffer, place);
    case ValueType::int32:
      return load<int32_t>(buffer, place);
    case ValueType::uint32:
      return load<uint32_t>(buffer, place);
    case ValueType::uint64: {
      const auto value = load<uint64_t>(buffer, place);
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) &&
          large_ == LargeIntegers::refused) {
        refuse_row(std::to_string(value) + " is above 2^63 - 1",
                   "uint64_bits=True writes values up to 2^64 - 1 by their bits");
      }
      return static_cast<int64_t>(value);
    }
    default:
      return load<int64_t>(buffer, place);
  }
}

float ArrowColumn::real(int64_t place) const {
  const void* const buffer = values_.array->buffers[1];
  if (values_.type == ValueType::float32) return load<float>(buffer, place);
  if (values_.type == ValueType::float64) {
    const auto wide = load<double>(buffer, place);
    if (const auto value = nearest_float(wide)) return *value;
    refuse_row(out_of_float_range(shortest_text(wide)));
  }
  return from_half(load<uint16_t>(buffer, place));
}

std::span<const std::byte> ArrowColumn::bytes(int64_t place) const {
  const ArrowArray& array = *values_.array;
  const auto bytes_at = [&](int64_t buffer, int64_t begin, int64_t size) {
    if (begin < 0 || size < 0 || (size > 0 && !array.buffers[buffer])) {
      damaged("a value outside its buffer");
    }
    const auto* const data = static_cast<const std::byte*>(array.buffers[buffer]);
    return std::span(size > 0 ? data + begin : nullptr, static_cast<size_t>(size));
  };
  const auto from_offsets = [&]<class T>(T) {
    const int64_t begin = load<T>(array.buffers[1], place);
    const int64_t end = load<T>(array.buffers[1], place + 1);
    if (end < begin) damaged("offsets that decrease");
    return bytes_at(2, begin, end - begin);
  };
  if (values_.type == ValueType::binary) return from_offsets(int32_t());
  if (values_.type == ValueType::large_binary) return from_offsets(int64_t());
  if (values_.type == ValueType::fixed_binary) {
    int64_t begin = 0;
    if (__builtin_mul_overflow(place, values_.width, &begin)) damaged("a value outside its buffer");
    return bytes_at(1, begin, values_.width);
  }
  // A view has 16 bytes: the size, then up to 12 bytes, or 4 of them, a buffer and an offset.
  const auto* const view = static_cast<const std::byte*>(array.buffers[1]) + place * 16;
  const int64_t size = load<int32_t>(view, 0);
  if (size < 0) damaged("a value outside its buffer");
  if (size <= 12) return {view + 4, static_cast<size_t>(size)};
  const int64_t buffer = load<int32_t>(view, 2);
  const int64_t begin = load<int32_t>(view, 3);
  const void* const sizes = array.buffers[array.n_buffers - 1];
  if (buffer < 0 || buffer >= array.n_buffers - 3 || !sizes || begin < 0 ||
      begin > load<int64_t>(sizes, buffer) - size) {
    damaged("a value outside its buffer");
  }
  return bytes_at(2 + buffer, begin, size);
}

std::optional<std::string> ArrowColumn::feature(int64_t row, uint64_t number) {
  number_ = number;
  const auto own_row = row_in_struct(row);
  if (!own_row) return std::nullopt;
  const auto range = range_of(*own_row);
  if (struct_ && !struct_->is_path && (!range || values_.type == ValueType::null)) {
    check_no_path(*own_row);
  }
  if (!range || values_.type == ValueType::null) return std::nullopt;
  const auto collect = [&](auto& out, const auto& value_at) -> const auto& {
    out.clear();
    out.reserve(static_cast<size_t>(range->count));
    for (int64_t i = 0; i < range->count; ++i) {
      out.push_back(value_at(place_of(range->begin + i)));
    }
    return out;
  };
  if (values_.type >= ValueType::binary) {
    return bytes_feature(collect(texts_, [&](int64_t place) { return bytes(place); }));
  }
  if (values_.type >= ValueType::float16) {
    return floats_feature(collect(floats_, [&](int64_t place) { return real(place); }));
  }
  return int64s_feature(collect(int64s_, [&](int64_t place) { return integer(values_, place); }));
}

}  // namespace recordpipe::python
