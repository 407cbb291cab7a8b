// Compares the wire view and the builder with protobuf's own parser and serialiser.
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "recordpipe/example/example_builder.h"
#include "recordpipe/proto/example.pb.h"
#include "tests/support/bytes.h"
#include "tests/support/example_comparison.h"
#include "tests/support/example_generator.h"
#include "tests/support/mutator.h"

namespace recordpipe {
namespace {

std::string serialize_deterministically(const proto::Example& message) {
  std::string out;
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return out;
}

TEST(ExampleViewDifferential, GeneratedMessages) {
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    const std::string bytes = ExampleGenerator(seed).example();
    ASSERT_TRUE(proto::Example().ParseFromString(bytes)) << "seed " << seed;
    ASSERT_EQ(difference_from_protobuf(as_bytes(bytes)), "") << to_hex(bytes);
  }
}

TEST(ExampleViewDifferential, DamagedMessages) {
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  size_t accepted = 0;
  std::vector<std::pair<std::string, std::string>> messages;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    ExampleGenerator generator(seed);
    std::string first = generator.example();
    messages.emplace_back(std::move(first), generator.example());
  }
  constexpr uint64_t kRounds = 50000;
  for (uint64_t seed = 0; seed < kRounds; ++seed) {
    const auto& [whole, other] = messages[seed % messages.size()];
    const std::string bytes = Mutator(seed).mutate(whole, other);
    ASSERT_EQ(difference_from_protobuf(as_bytes(bytes)), "") << to_hex(bytes);
    accepted += proto::Example().ParseFromString(bytes) ? 1 : 0;
  }
  // Both outcomes must be frequent for the comparison to be meaningful.
  EXPECT_GT(accepted, kRounds / 20);
  EXPECT_LT(accepted, kRounds * 19 / 20);
}

TEST(ExampleViewDifferential, EveryCutAndEveryFlippedBit) {
  ExampleGenerator generator(7);
  std::string bytes;
  while (bytes.size() < 300) bytes = generator.example();
  for (size_t size = 0; size <= bytes.size(); ++size) {
    ASSERT_EQ(difference_from_protobuf(as_bytes(bytes).first(size)), "") << size;
  }
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    ASSERT_EQ(difference_from_protobuf(as_bytes(damaged)), "") << bit;
  }
}

// The usual encodings are parsed by a fast path, which must reject encodings that are only similar.
TEST(ExampleViewDifferential, EveryChangeOfAByteOfAPlainExample) {
  const google::protobuf::LogSilencer no_complaints_about_utf8;
  const std::string bytes = ExampleBuilder()
                                .set_bytes("image", as_bytes("0123456789"))
                                .set_float("weight", 0.5f)
                                .set_int64("label", 1234567)
                                .serialize();
  ASSERT_EQ(difference_from_protobuf(as_bytes(bytes)), "");
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      ASSERT_EQ(difference_from_protobuf(as_bytes(changed)), "") << to_hex(changed);
      const std::string longer = bytes.substr(0, at) + static_cast<char>(value) + bytes.substr(at);
      ASSERT_EQ(difference_from_protobuf(as_bytes(longer)), "") << to_hex(longer);
    }
    const std::string shorter = bytes.substr(0, at) + bytes.substr(at + 1);
    ASSERT_EQ(difference_from_protobuf(as_bytes(shorter)), "") << to_hex(shorter);
  }
}

// A varint may be longer than necessary, up to a limit that depends on the field it is in.
TEST(ExampleViewDifferential, LengthsAndNumbersWithMoreBytesThanTheyNeed) {
  const auto padded = [](size_t value, size_t more) {
    std::string varint(1, static_cast<char>(value));
    for (; more > 0; --more) {
      varint.back() = static_cast<char>(varint.back() | 0x80);
      varint += '\0';
    }
    return varint;
  };
  for (const bool is_number : {false, true}) {
    for (size_t level = 0; level < 7; ++level) {
      for (size_t more = 0; more < 12; ++more) {
        auto length = [&, left = level](const std::string& of) mutable {
          return padded(of.size(), left-- == 0 ? more : 0) + of;
        };
        const std::string value =
            is_number ? padded(5, level == 6 ? more : 0) : std::string("pixels");
        const std::string list = "\x0a" + length(value);
        const std::string feature = (is_number ? "\x1a" : "\x0a") + length(list);
        const std::string entry = "\x0a" + length("k") + "\x12" + length(feature);
        const std::string features = "\x0a" + length(entry);
        const std::string example = "\x0a" + length(features);
        ASSERT_EQ(difference_from_protobuf(as_bytes(example)), "")
            << to_hex(example) << " level " << level << " and " << more << " more";
      }
    }
  }
}

TEST(ExampleBuilderDifferential, WritesWhatProtobufWrites) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    ExampleBuilder builder;
    proto::Example message;
    auto& features = *message.mutable_features()->mutable_feature();
    for (size_t i = 1 + random() % 8; i > 0; --i) {
      const std::string name(random() % 3 == 0 ? random() % 200 : random() % 4,
                             static_cast<char>('a' + random() % 26));
      proto::Feature& feature = features[name];
      feature.Clear();
      const size_t count = random() % 5 == 0 ? random() % 300 : random() % 3;
      if (random() % 3 == 0) {
        std::vector<int64_t> values(count);
        for (auto& value : values) value = static_cast<int64_t>(random() >> random() % 64);
        feature.mutable_int64_list()->mutable_value()->Add(values.begin(), values.end());
        builder.set_int64s(name, values);
      } else if (random() % 2 == 0) {
        std::vector<float> values(count);
        for (auto& value : values) value = static_cast<float>(random()) * 1e-10f - 1e9f;
        feature.mutable_float_list()->mutable_value()->Add(values.begin(), values.end());
        builder.set_floats(name, values);
      } else {
        std::vector<std::string> values(count);
        std::vector<std::span<const std::byte>> views;
        for (auto& value : values) {
          value.assign(random() % 300, static_cast<char>(random()));
          views.push_back(as_bytes(value));
        }
        feature.mutable_bytes_list()->mutable_value()->Add(values.begin(), values.end());
        builder.set_bytes_list(name, views);
      }
    }
    ASSERT_EQ(to_hex(builder.serialize()), to_hex(serialize_deterministically(message)));
  }
}

}  // namespace
}  // namespace recordpipe
