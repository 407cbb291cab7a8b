// An inferred schema as code that reads such records.
#pragma once

#include <string>

#include "recordpipe/toolkit/schema_inference.h"

namespace recordpipe {

// A declaration of an ExampleSchema, or a SequenceExampleSchema where there are feature lists
// (example_schema.h), with the header that it takes. A feature is FixedLen where every record has
// it with as many values, else Ragged. Features whose lists are of several kinds, or always
// missing, are left out, which a comment says.
std::string schema_as_cpp(const InferredSchema& schema);

// The same as dicts of tf.io's FixedLenFeature and RaggedFeature, for tf.io.parse_example or
// tf.io.parse_sequence_example.
std::string schema_as_python(const InferredSchema& schema);

}  // namespace recordpipe
