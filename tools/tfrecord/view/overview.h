// What the page says of all records that were read, not only of those it shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "recordpipe/message_view.h"
#include "recordpipe/toolkit/distribution.h"
#include "recordpipe/toolkit/schema_inference.h"

namespace recordpipe {

// How often each of a feature's values came, as long as they are few.
struct ValueCounts {
  static constexpr size_t kMost = 64;         // different values
  static constexpr size_t kLongestText = 60;  // bytes

  std::map<std::string, uint64_t, std::less<>> texts = {};
  std::map<int64_t, uint64_t> integers = {};
  bool too_many = false;  // or too long: nothing is counted

  void add(const FeatureView& feature);

 private:
  void give_up();
};

struct Overview {
  // Of as many features; all others are in the schema alone. A distribution takes up to 128 KiB.
  static constexpr size_t kMostFeatures = 200;
  static constexpr size_t kMostDistributions = 40;

  InferredSchema schema = {};
  std::map<std::string, Distribution, std::less<>> numbers = {};
  std::map<std::string, ValueCounts, std::less<>> values = {};

  // `size` is the record's, in bytes.
  void add(const MessageView& record, size_t size);
};

}  // namespace recordpipe
