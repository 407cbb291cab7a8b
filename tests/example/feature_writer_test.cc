// Tests that features and feature maps equal protobuf's deterministic serialisation byte for byte.
#include "recordpipe/example/internal/feature_writer.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recordpipe/example/internal/wire_reader.h"
#include "recordpipe/proto/example.pb.h"
#include "tests/support/bytes.h"
#include "tests/support/deterministic_bytes.h"

namespace recordpipe {
namespace {

TEST(FeatureWriter, Int64s) {
  for (const std::vector<int64_t>& values : std::vector<std::vector<int64_t>>{
           {},
           {0},
           {1, 127, 128, 16383, 16384, 1 << 30},
           {-1, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()},
           std::vector<int64_t>(10000, 300)}) {
    proto::Feature feature;
    feature.mutable_int64_list()->mutable_value()->Add(values.begin(), values.end());
    EXPECT_EQ(to_hex(int64s_feature(values)), to_hex(deterministic_bytes(feature)));
  }
}

TEST(FeatureWriter, Floats) {
  for (const std::vector<float>& values :
       std::vector<std::vector<float>>{{},
                                       {0.f, -0.f, 1.5f},
                                       {INFINITY, -INFINITY, NAN, 1e-45f},
                                       std::vector<float>(10000, 0.1f)}) {
    proto::Feature feature;
    feature.mutable_float_list()->mutable_value()->Add(values.begin(), values.end());
    EXPECT_EQ(to_hex(floats_feature(values)), to_hex(deterministic_bytes(feature)));
  }
}

TEST(FeatureWriter, Bytes) {
  for (const std::vector<std::string>& values : std::vector<std::vector<std::string>>{
           {}, {""}, {"a", "", std::string("\0\xff", 2)}, {std::string(20000, 'x'), "y"}}) {
    proto::Feature feature;
    std::vector<std::span<const std::byte>> spans;
    feature.mutable_bytes_list();
    for (const std::string& value : values) {
      feature.mutable_bytes_list()->add_value(value);
      spans.push_back(as_bytes(value));
    }
    EXPECT_EQ(to_hex(bytes_feature(spans)), to_hex(deterministic_bytes(feature)));
  }
}

TEST(FeatureWriter, AMapOfFeatures) {
  proto::Example example;
  SerializedFeatures features;
  for (const char* name : {"b", "", "a/b", "a", "\xc3\xa9"}) {
    const int64_t value = static_cast<int64_t>(features.size());
    features.emplace(name, int64s_feature(std::span(&value, 1)));
    (*example.mutable_features()->mutable_feature())[name].mutable_int64_list()->add_value(value);
  }
  std::string bytes;
  append_feature_map(kExampleFeatures, features, bytes);
  EXPECT_EQ(to_hex(bytes), to_hex(deterministic_bytes(example)));
}

TEST(FeatureWriter, AppendsBehindWhatIsThere) {
  std::string bytes = "before";
  append_feature_map(kExampleFeatures, {}, bytes);
  EXPECT_EQ(bytes, "before");
  append_feature_map(kSequenceFeatureLists, {{"k", ""}}, bytes);
  EXPECT_EQ(to_hex(bytes.substr(6)), "12070a050a016b1200");
}

}  // namespace
}  // namespace recordpipe
