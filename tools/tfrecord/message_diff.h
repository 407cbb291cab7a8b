// Where two records differ, feature by feature: the order of names, and whether lists are packed,
// don't count.
#pragma once

#include <string>
#include <vector>

#include "dataset/example/message_view.h"

namespace recordpipe {

struct FeatureDifference {
  std::string feature = {};  // empty: the records as a whole
  std::string what = {};     // "only in A", "only in B", "kind", "count", "values" or "bytes"
  std::string a = {};        // what A has, shortened; empty where there is none
  std::string b = {};
};

// `tolerance`: numbers that are no further apart are the same. NaN is the same as NaN.
std::vector<FeatureDifference> compare_messages(const MessageView& a, const MessageView& b,
                                                double tolerance);

}  // namespace recordpipe
