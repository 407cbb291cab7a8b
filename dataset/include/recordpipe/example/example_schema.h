// Defines the schema of parsed features: the names, kinds and forms of the features to read from an
// Example or SequenceExample. Names and semantics are those of tf.io.
//
//     const ExampleSchema schema = {
//         {"image", FixedLen{FeatureKind::bytes}},
//         {"box", FixedLen{FeatureKind::floats, {4}}},
//         {"weight", FixedLen{FeatureKind::floats, {}, std::vector<float>{1}}},  // 1 if missing
//         {"words", Ragged{FeatureKind::int64s}},
//         {"mask", SerializedTensor{TensorType::float32, {8, 8}}},  // of tf.io.serialize_tensor
//     };
//
// A feature is missing if the Example has no feature of its name, or if that feature has no list. A
// feature with an empty list is present: it has 0 values, which is an error for FixedLen, unless
// empty_is_missing is set. A feature of another kind than in the schema is always an error.
// Features that are not in the schema are validated as part of the message and ignored, unless an
// UnlistedFeatures (unlisted_features.h) watches for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "recordpipe/example/example_view.h"
#include "recordpipe/example/tensor_proto.h"

namespace recordpipe {

// Default values, of the same kind as the feature; std::monostate: no default values.
using DefaultValues = std::variant<std::monostate, std::vector<std::string>, std::vector<float>,
                                   std::vector<int64_t>>;

// The same number of values in every Example. tf.io.FixedLenFeature.
struct FixedLen {
  FeatureKind kind = FeatureKind::none;  // must be set
  // The shape of one Example's values, row-major. Default: {}, a single value. No dimension may be
  // 0.
  std::vector<size_t> shape = {};
  // The values for an Example without the feature; their number must match the shape. Default:
  // none; the feature is required.
  DefaultValues default_values = {};
  // For kind bytes and shape {}: the size of the value in bytes; another size is an error. The
  // values of a batch are then one array [batch, value_bytes], for example of raw pixels
  // (tf.io.decode_raw). Default: any size.
  std::optional<size_t> value_bytes = {};
  // For kind bytes: a value that is not UTF-8 is an error.
  bool utf8 = false;
  // true: a feature with an empty list is missing, as some writers encode a null.
  bool empty_is_missing = false;
  // For a required feature of kind bytes and shape {}: the value is not copied to a column.
  // ExampleBatch::view() returns it, for collators that write it elsewhere, such as decoders of
  // images. Default: a column.
  bool is_view = false;
};

// Any number of values; none if the feature is missing. tf.io.RaggedFeature.
struct Ragged {
  FeatureKind kind = FeatureKind::none;  // must be set
  bool utf8 = false;                     // as in FixedLen
};
// tf.io.VarLenFeature has the same semantics and gives a SparseTensor: sparse_indices() of
// columns.h computes its indices from a ragged column.
using VarLen = Ragged;

// How a bytes value holds the elements of a tensor.
enum class TensorEncoding : uint8_t {
  proto,          // a TensorProto, of tf.io.serialize_tensor (tensor_proto.h)
  little_endian,  // the elements alone, row-major (tf.io.decode_raw); not of complex numbers
  big_endian,     // the same, with the bytes of each element in reverse order
};

// A bytes feature with one value: the bytes of a tensor. All tensors have the same type. The
// elements of a batch are one array (TensorColumn in columns.h). In feature lists, each step has
// such a value.
struct SerializedTensor {
  TensorType type;
  // The shape of the tensor; with `ragged`, without its first dimension. No dimension may be 0.
  std::vector<size_t> shape = {};
  // true: the first dimension has any size, which differs between Examples; [None, shape...].
  // Repeated values of a tensor (tensor_proto.h) may then take at most 16 MiB, because a few bytes
  // could describe any size.
  bool ragged = false;
  // true: a missing tensor is zeros, or has no items if ragged; a missing list has no steps. A
  // feature with an empty list is missing, too, unless the encoding is proto. false (default): the
  // feature is required.
  bool allow_missing = false;
  TensorEncoding encoding = TensorEncoding::proto;
};

// The same number of values in every step of a feature list. tf.io.FixedLenSequenceFeature.
struct FixedLenSequence {
  FeatureKind kind = FeatureKind::none;  // must be set
  // The shape of one step's values, as in FixedLen.
  std::vector<size_t> shape = {};
  // true: a missing list has no steps; false (default): the list is required.
  bool allow_missing = false;
  bool utf8 = false;  // as in FixedLen
};

using ExampleSchema = std::map<std::string, std::variant<FixedLen, Ragged, SerializedTensor>>;

// In a feature list, Ragged means any number of steps with any number of values each.
using FeatureListSchema =
    std::map<std::string, std::variant<FixedLenSequence, Ragged, SerializedTensor>>;

struct SequenceExampleSchema {
  ExampleSchema context = {};
  FeatureListSchema feature_lists = {};
  // The records are ExampleListWithContexts (of TensorFlow Ranking): a feature of the Examples is a
  // feature list with a step for each Example, which is empty where the Example lacks it.
  bool of_example_lists = false;
};

// What becomes of a record that has none of the wanted features. A parser skips what it doesn't
// know: of a message of another type, all features are missing, and their default values would look
// like data.
enum class OtherMessages {
  accept,  // it is taken for a message without these features, as by protobuf's parser
  refuse,  // an error, unless all its bytes are fields of the type that is parsed (message_view.h)
};

}  // namespace recordpipe
