// Measures sequences, for operators that group elements by length.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "python/native/dataset/parse_spec.h"
#include "recordpipe/base/parameter.h"
#include "recordpipe/record/record.h"

namespace recordpipe::python {

// The spec of some of the features of Examples, which must be RaggedFeatures:
// Error{invalid_argument} names the first that isn't.
ParseSpec only_features(const ParseSpec& spec, const std::vector<std::string>& names);

// Counts the values of features in records, of which nothing else is decoded.
class FeatureSizes {
 public:
  // Of the features of Examples, or of the steps of the feature lists, or of the features of the
  // context, of SequenceExamples.
  FeatureSizes(const ParseSpec& spec, std::vector<std::string> names);

  std::vector<size_t> operator()(const Record& record) const;
  std::vector<size_t> operator()(const DrawnRecord& drawn) const { return (*this)(drawn.record); }
  std::vector<Parameter> parameters() const;

 private:
  struct Feature {
    OutputFeature output;
    bool in_list = false;  // of SequenceExamples
  };

  ParseCollator collator_;
  std::vector<Feature> features_;
};

}  // namespace recordpipe::python
