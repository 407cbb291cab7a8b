// Compares the serialisation of saved iterators with protobuf's.
#include "dataset/pipeline/state/iterator_state_codec.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include "recordpipe/base/philox.h"
#include "recordpipe/proto/iterator_state.pb.h"
#include "tests/pipeline/sealed_state.h"
#include "tests/pipeline/trials.h"
#include "tests/support/expect_error.h"

namespace recordpipe::internal {
namespace {

// Draws numbers of all sizes, with many zeros.
uint64_t draw_number(Random& random) {
  const uint32_t bits = random.below(66);
  return bits < 2 ? 0 : random.next64() >> (65 - bits);
}

template <class T>
std::vector<T> draw_numbers(Random& random) {
  std::vector<T> numbers(random.below(3) == 0 ? 0 : random.below(20));
  for (T& number : numbers) number = static_cast<T>(draw_number(random));
  return numbers;
}

PlanState draw_place(Random& random, int depth) {
  PlanState place{.numbers = draw_numbers<uint64_t>(random),
                  .inputs = {},
                  .passed_over = draw_number(random),
                  .past_end = draw_number(random)};
  for (uint32_t inputs = depth == 0 ? 0 : random.below(4); inputs > 0; --inputs) {
    place.inputs.push_back(draw_place(random, depth - 1));
  }
  return place;
}

IteratorState draw_state(Random& random) {
  return {.version = static_cast<uint32_t>(draw_number(random)),
          .plan_hash = draw_number(random),
          .plan_text = std::string(random.below(200), '\xff'),
          .file_fingerprints = draw_numbers<uint64_t>(random),
          .files_per_fingerprint = static_cast<uint32_t>(draw_number(random)),
          .place = draw_place(random, 4),
          .position = draw_number(random),
          .epoch = draw_number(random),
          .opened_files = draw_numbers<uint32_t>(random),
          .input_files = draw_numbers<uint64_t>(random),
          .operators_hash = draw_number(random)};
}

void copy(const PlanState& from, proto::PlanState& to) {
  to.mutable_numbers()->Assign(from.numbers.begin(), from.numbers.end());
  for (const PlanState& input : from.inputs) copy(input, *to.add_inputs());
  to.set_passed_over(from.passed_over);
  to.set_past_end(from.past_end);
}

std::string serialize_by_protobuf(const IteratorState& state) {
  proto::IteratorState message;
  message.set_version(state.version);
  message.set_plan_hash(state.plan_hash);
  message.set_plan_text(state.plan_text);
  message.mutable_file_fingerprints()->Assign(state.file_fingerprints.begin(),
                                              state.file_fingerprints.end());
  message.set_files_per_fingerprint(state.files_per_fingerprint);
  copy(state.place, *message.mutable_place());
  message.set_position(state.position);
  message.set_epoch(state.epoch);
  message.mutable_opened_files()->Assign(state.opened_files.begin(), state.opened_files.end());
  message.mutable_input_files()->Assign(state.input_files.begin(), state.input_files.end());
  message.set_operators_hash(state.operators_hash);
  return sealed(std::move(message));
}

TEST(IteratorStateCodec, WritesAndReadsTheBytesOfProtobuf) {
  for (uint64_t trial = 0; trial < trial_count(); ++trial) {
    Random random(derive_key(2028, 0), 0, trial);
    const IteratorState state = draw_state(random);
    const std::string serialized = serialize(state);
    ASSERT_EQ(serialized, serialize_by_protobuf(state)) << "trial " << trial;
    const auto parsed = parse_iterator_state(serialized);
    ASSERT_TRUE(parsed && parsed->is_intact) << "trial " << trial;
    // All fields were read if they are written again.
    ASSERT_EQ(serialize(parsed->state), serialized) << "trial " << trial;
  }
}

TEST(IteratorStateCodec, UnknownFieldsAreSkipped) {
  proto::IteratorState message;
  message.set_version(7);
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(99)->assign("new");
  const auto parsed = parse_iterator_state(message.SerializeAsString());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->state.version, 7u);
  EXPECT_FALSE(parsed->is_intact);
}

PlanState nested(int depth) {
  PlanState place;
  for (int i = 1; i < depth; ++i) {
    PlanState outer;
    outer.inputs.push_back(std::move(place));
    place = std::move(outer);
  }
  return place;
}

TEST(IteratorStateCodec, NestingIsLimited) {
  const IteratorState deepest{.place = nested(kMaxStateDepth - 1)};
  const auto parsed = parse_iterator_state(serialize(deepest));
  EXPECT_TRUE(parsed && parsed->is_intact);
  const IteratorState deeper{.place = nested(kMaxStateDepth)};
  EXPECT_EQ(error_of([&] { serialize(deeper); }).kind(), ErrorKind::unsupported);
  // Nested further by another program: field 2 of field 2 of ... of field 6.
  std::string hostile;
  for (int i = 0; i < 2 * kMaxStateDepth; ++i) {
    proto::PlanState outer;
    outer.GetReflection()->MutableUnknownFields(&outer)->AddLengthDelimited(2)->swap(hostile);
    hostile = outer.SerializeAsString();
  }
  proto::IteratorState message;
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(6)->swap(hostile);
  EXPECT_FALSE(parse_iterator_state(message.SerializeAsString()));
}

TEST(IteratorStateCodec, CutBytesAreNoStateOrNotIntact) {
  Random random(derive_key(2029, 0), 0, 0);
  const std::string serialized = serialize(draw_state(random));
  for (size_t size = 0; size < serialized.size(); ++size) {
    const auto parsed = parse_iterator_state(serialized.substr(0, size));
    EXPECT_FALSE(parsed && parsed->is_intact) << size << " bytes";
  }
}

}  // namespace
}  // namespace recordpipe::internal
