// flat_map over functions whose results end in a Dataset or in an error, for bindings to languages
// where the type of a result is known only when it is there.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>

#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::internal {

// What follows the elements of a vector.
struct FlatMapRest {
  NodePtr dataset = {};           // of elements of the vector's type; null: none
  uint64_t epoch = 0;             // of the dataset
  std::exception_ptr error = {};  // the end: the elements after it are lost
};

// Returns the rest that belongs to a vector.
using FlatMapRestOf = FlatMapRest* (*)(void* vector);

// The elements of a dataset are not collected: it is read on, as by interleave.
NodePtr flat_map(NodePtr input, std::unique_ptr<const MapFunction> function,
                 const ElementOps& vector, FlatMapRestOf rest_of);

}  // namespace recordpipe::internal
