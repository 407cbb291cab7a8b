#include "python/native/arrow/arrow_reader.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python/native/arrow/arrow_buffers.h"
#include "python/native/arrow/arrow_column.h"
#include "recordpipe/base/error.h"
#include "recordpipe/example/internal/feature_writer.h"

namespace recordpipe::python {
namespace {

// Releases an Arrow struct at the end of a scope.
template <class T>
struct Owned {
  T value = {};

  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (value.release) value.release(&value);
  }
};

[[noreturn]] void refuse_arrow(const std::string& reason) {
  throw Error({.kind = ErrorKind::invalid_argument, .reason = reason});
}

// __index_level_0__, ...: pandas' names of row labels that have no name.
bool is_unnamed_index(std::string_view name) {
  constexpr std::string_view kBegin = "__index_level_", kEnd = "__";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return false;
  name.remove_prefix(kBegin.size());
  if (name.size() <= kEnd.size()) return false;
  name.remove_suffix(kEnd.size());
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

struct NumberedColumn {
  ArrowColumn column;
  int64_t number;  // in the schema
};

// Sorted by name, and without row labels of pandas that have no name.
std::vector<NumberedColumn> columns_of(const ArrowSchema& schema, LargeIntegers large) {
  if (!schema.release) refuse_arrow("the Arrow schema is released already");
  if (!schema.format || std::strcmp(schema.format, "+s") != 0) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "the Arrow data has no columns: it is a single array"});
  }
  std::vector<NumberedColumn> columns;
  const bool is_of_pandas = metadata_of(schema, "pandas").has_value();
  for (int64_t i = 0; i < schema.n_children; ++i) {
    const char* const child = schema.children[i]->name;
    if (is_of_pandas && child && is_unnamed_index(child)) continue;
    for (ArrowColumn& column : ArrowColumn::of(*schema.children[i], large)) {
      columns.push_back({std::move(column), i});
    }
  }
  const auto name = [](const NumberedColumn& column) -> const auto& {
    return column.column.name();
  };
  std::ranges::sort(columns, {}, name);
  const auto same = std::ranges::adjacent_find(columns, {}, name);
  if (same != columns.end()) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "two columns are named '" + printable(name(*same)) + "'"});
  }
  return columns;
}

bool has_null_rows(const ArrowArray& batch) {
  for (int64_t row = 0; batch.null_count != 0 && row < batch.length; ++row) {
    if (is_null(batch, batch.offset + row)) return true;
  }
  return false;
}

// Returns `number` + the rows of the batch. `number_of_columns`: also of those left out.
uint64_t write_batch(std::vector<NumberedColumn>& columns, int64_t number_of_columns,
                     const ArrowArray& batch, uint64_t number, const WriteExample& write,
                     const std::function<void()>& tick) {
  constexpr int64_t kRowsPerTick = 4096;
  if (batch.length < 0 || batch.offset < 0 || batch.length > INT64_MAX - batch.offset ||
      (batch.n_buffers > 0 && !batch.buffers) || (batch.n_children > 0 && !batch.children) ||
      batch.n_children != number_of_columns) {
    refuse_arrow("an Arrow batch that contradicts its schema");
  }
  if (has_null_rows(batch)) refuse_arrow("an Arrow struct array with null rows");
  for (NumberedColumn& numbered : columns) {
    numbered.column.bind(batch.children[numbered.number], batch.offset + batch.length);
  }
  std::vector<NamedSerializedFeature> features;
  std::string example;
  for (int64_t row = 0; row < batch.length; ++row) {
    if (row % kRowsPerTick == 0) tick();
    features.clear();
    for (NumberedColumn& numbered : columns) {
      ArrowColumn& column = numbered.column;
      if (auto feature = column.feature(batch.offset + row, number)) {
        features.emplace_back(column.name(), std::move(*feature));
      }
    }
    example.clear();
    append_example(features, example);
    write(std::as_bytes(std::span(example)));
    ++number;
  }
  return number;
}

}  // namespace

void write_examples(ArrowArrayStream& stream, LargeIntegers large, uint64_t first,
                    const WriteExample& write, const std::function<void()>& tick) {
  if (!stream.release) refuse_arrow("the Arrow stream is read already");
  Owned<ArrowArrayStream> input;  // a consumer moves the struct
  std::swap(input.value, stream);
  const auto check = [&](int code) {
    if (code == 0) return;
    const char* const message = input.value.get_last_error(&input.value);
    throw Error({.kind = ErrorKind::io,
                 .reason = "the Arrow stream failed: " +
                           printable(message ? message : std::strerror(code))});
  };
  Owned<ArrowSchema> schema;
  check(input.value.get_schema(&input.value, &schema.value));
  std::vector<NumberedColumn> columns = columns_of(schema.value, large);
  uint64_t rows = first;
  while (true) {
    tick();
    Owned<ArrowArray> batch;
    check(input.value.get_next(&input.value, &batch.value));
    if (!batch.value.release) return;
    rows = write_batch(columns, schema.value.n_children, batch.value, rows, write, tick);
  }
}

void write_examples(const ArrowSchema& schema, const ArrowArray& batch, LargeIntegers large,
                    uint64_t first, const WriteExample& write, const std::function<void()>& tick) {
  std::vector<NumberedColumn> columns = columns_of(schema, large);
  if (!batch.release) refuse_arrow("the Arrow array is read already");
  write_batch(columns, schema.n_children, batch, first, write, tick);
}

}  // namespace recordpipe::python
