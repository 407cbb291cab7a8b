// One column of Arrow record batches, read row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "python/native/arrow/arrow_abi.h"
#include "python/native/arrow/arrow_reader.h"

namespace recordpipe::python {

// The value of this key in the metadata of a schema, or of a column; nullopt if there is none.
std::optional<std::string_view> metadata_of(const ArrowSchema& schema, std::string_view key);

class ArrowColumn {
 public:
  // The features of a column: one, or those of the bytes and the path of a struct of both. Throws
  // Error{unsupported}, with the column's name, for a type that features don't have.
  static std::vector<ArrowColumn> of(const ArrowSchema& schema, LargeIntegers large);

  const std::string& name() const { return name_; }

  // Uses `array`, which must have `rows` rows, from now on. Throws Error{invalid_argument} if its
  // structure contradicts the schema. The sizes of buffers are not known, and trusted.
  void bind(const ArrowArray* array, int64_t rows);

  // Returns the serialised Feature of row `row` of the array; nullopt if it is null. Throws
  // Error{unsupported} for a value that a feature can't hold, with the column's name, and `number`
  // of the row.
  std::optional<std::string> feature(int64_t row, uint64_t number);

 private:
  ArrowColumn(const ArrowSchema& schema, std::string name, LargeIntegers large);

  enum class ValueType {
    null,
    boolean,
    int8,
    uint8,
    int16,
    uint16,
    int32,
    uint32,
    int64,
    uint64,
    float16,
    float32,
    float64,
    binary,        // with int32 offsets
    large_binary,  // with int64 offsets
    binary_view,
    fixed_binary,
  };
  struct Values {
    ValueType type = ValueType::null;
    int64_t width = 0;  // of fixed_binary
    const ArrowArray* array = nullptr;
  };
  enum class ListType { list, large_list, list_view, large_list_view, fixed };
  struct List {
    ListType type;
    int64_t width = 0;  // if fixed
    const ArrowArray* array = nullptr;
  };
  // The struct that the column is a member of.
  struct Struct {
    int64_t members;
    int64_t bytes;  // the numbers of its members
    int64_t path;
    bool is_path = false;  // otherwise, the column is the bytes
    const ArrowArray* array = nullptr;
  };
  // Elements of an array, not counting its offset.
  struct Range {
    int64_t begin;
    int64_t count;
  };

  static std::optional<Struct> file_of(const ArrowSchema& schema);
  Values values_of(const ArrowSchema& schema) const;
  std::optional<List> list_of(const ArrowSchema& schema) const;
  void bind_values(Values& values, const ArrowArray* array);
  void check_array(const ArrowArray* array, int64_t buffers, int64_t children) const;

  // The row of the column itself; nullopt if its struct is null.
  std::optional<int64_t> row_in_struct(int64_t row) const;
  // Throws Error{unsupported} if the row of the struct has a path.
  void check_no_path(int64_t row) const;
  // The values of a row; nullopt if it is null.
  std::optional<Range> range_of(int64_t row) const;
  Range items_of(const List& list, Range range) const;
  // The element of values_.array with value `i`, which counts array offsets; through the
  // dictionary, if there is one.
  int64_t place_of(int64_t i) const;
  int64_t integer(const Values& values, int64_t place) const;
  float real(int64_t place) const;
  std::span<const std::byte> bytes(int64_t place) const;

  [[noreturn]] void refuse(const std::string& reason, const std::string& hint = {}) const;
  [[noreturn]] void refuse_row(const std::string& reason, const std::string& hint = {}) const;
  [[noreturn]] void damaged(const std::string& reason) const;

  std::string name_;
  LargeIntegers large_;
  std::optional<Struct> struct_;
  std::vector<List> lists_;  // from the outermost; only the first may have any number of items
  std::optional<Values> indexes_;  // of a dictionary
  Values values_;
  uint64_t number_ = 0;          // of the current row
  std::vector<int64_t> int64s_;  // of one row
  std::vector<float> floats_;
  std::vector<std::span<const std::byte>> texts_;
};

}  // namespace recordpipe::python
