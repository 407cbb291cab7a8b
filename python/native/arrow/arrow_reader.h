// Makes Examples of the rows of Arrow tables.
//
// Columns become features of the same name: integers and bools int64 values, floats of all widths
// float values (rounded to 32 bits), strings and binary values bytes values, also if they are
// dictionary-encoded or views. Lists become lists; fixed-size lists of fixed-size lists are
// flattened in row-major order. Null leaves the feature out. A struct of `bytes` and `path`, as
// Hugging Face's datasets store images and sounds, becomes two features: NAME of the bytes, and
// NAME/path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "python/native/arrow/arrow_abi.h"

namespace recordpipe::python {

using WriteExample = std::function<void(std::span<const std::byte>)>;

// What becomes of an integer above 2^63 - 1.
enum class LargeIntegers { refused, bits /* the int64 of the same bits */ };

// Calls write() for each row. `first`: the number of the first row, for errors. Reads `stream` to
// its end, one record batch at a time. tick() is called now and then, and may throw. Throws Error:
//   unsupported       a column of another type, two columns of one name, a null in a list, a path
//                     without bytes, or an integer above 2^63 - 1 that is refused, or a float out
//                     of the range of 32 bits, with the column's name, and the row
//   invalid_argument  the structs contradict their types, or are released already
//   io                the stream failed
void write_examples(ArrowArrayStream& stream, LargeIntegers large, uint64_t first,
                    const WriteExample& write, const std::function<void()>& tick);
// The same for one record batch.
void write_examples(const ArrowSchema& schema, const ArrowArray& batch, LargeIntegers large,
                    uint64_t first, const WriteExample& write, const std::function<void()>& tick);

}  // namespace recordpipe::python
