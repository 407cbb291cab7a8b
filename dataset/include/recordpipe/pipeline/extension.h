// For bindings to other languages, and for operators of one's own: Datasets as nodes of a plan, and
// the operators with functions that take a whole chunk of type-erased elements. Programs that only
// use pipelines don't need this header.
//
// An operator made of others is a function of Datasets, without this header:
//
//   template <class T>
//   Dataset<T> every_other(const Dataset<T>& input) { return input.shard(2, 0); }
//
// An operator whose function is of another language is a node of one of the operators below:
//
//   class Callback final : public extension::MapFunction { ... };  // is called for a chunk
//
//   auto node = extension::map(extension::node(input), std::make_unique<Callback>(...),
//                              extension::element_ops<Value>(), {});
//   return extension::dataset<Value>(input, std::move(node));
//
// The names are promised as those of all public headers are; what they refer to is described where
// it is declared.
#pragma once

#include <utility>

#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/pipeline/internal/element_ops.h"
#include "recordpipe/pipeline/internal/functions.h"
#include "recordpipe/pipeline/internal/operators.h"

namespace recordpipe::extension {

// Elements whose type is known only at run time (element_ops.h).
using internal::element_ops;
using internal::ElementOps;
using internal::TupleOps;
using internal::VectorOps;

// Functions of chunks of elements (functions.h), their tickets, and the elements that failed.
using internal::BatchFunction;
using internal::Collate;
using internal::Failures;
using internal::FlatMapRest;
using internal::for_each_good;
using internal::Indexed;
using internal::IndexedValues;
using internal::MapFunction;
using internal::Measure;
using internal::MeasureFunction;
using internal::Predicate;
using internal::Ticket;

// Operators (operators.h): each adds a node to its input's.
using internal::bucket_by_sequence_length;
using internal::filter;
using internal::flat_map;
using internal::indexed;
using internal::interleave;
using internal::map;
using internal::NodePtr;
using internal::pack_sequences;
using internal::zip;

// What a plan consists of: which of its parameters a state can't compare, and how many of its
// operators draw random numbers.
using internal::not_compared;
using internal::random_operators;

// The last node of `dataset`.
template <class T>
const NodePtr& node(const Dataset<T>& dataset) {
  return internal::DatasetNode::of(dataset);
}

// A Dataset of `node`, whose elements must be of type U, with `input`'s options and epoch.
template <class U, class T>
Dataset<U> dataset(const Dataset<T>& input, NodePtr node) {
  return internal::DatasetNode::with<U>(input, std::move(node));
}

// A Dataset of a source's `node`, whose elements must be of type T.
template <class T>
Dataset<T> source(NodePtr node) {
  return internal::DatasetNode::source<T>(std::move(node));
}

}  // namespace recordpipe::extension
