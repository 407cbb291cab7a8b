#include "recordpipe/trainer/summary/event.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "dataset/example/event_view.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/proto/event.pb.h"
#include "recordpipe/trainer/summary/histogram.h"
#include "tests/support/bytes.h"
#include "tests/support/expect_error.h"

namespace recordpipe {
namespace {

proto::Event parsed(const Event& event) {
  proto::Event message;
  EXPECT_TRUE(message.ParseFromString(encode_event(event)));
  return message;
}

ImageBatch grey_batch(size_t images) {
  ImageBatch batch;
  batch.reset({.height = 2, .width = 3, .channels = 1, .dtype = DType::uint8}, images);
  for (size_t image = 0; image < images; ++image)
    std::fill_n(batch.image_at(image), 6, std::byte(10 * (image + 1)));
  return batch;
}

// The expected bytes were written by hand from https://protobuf.dev/programming-guides/encoding and
// TensorFlow's event.proto and summary.proto.
TEST(Event, IsOnTheWireWhatTensorFlowWrites) {
  EXPECT_EQ(to_hex(encode_event({.wall_time = 1.5})),
            "09000000000000f83f1a0d627261696e2e4576656e743a32");
  const Event loss = {
      .wall_time = 1.5, .step = 300, .what = std::vector<SummaryValue>{{"loss", ScalarSummary{2}}}};
  EXPECT_EQ(to_hex(encode_event(loss)), "09000000000000f83f10ac022a0d0a0b0a046c6f73731500000040");
  const Event checkpoint = {
      .wall_time = 1.5,
      .step = 1,
      .what = SessionLog{.status = SessionStatus::checkpoint, .checkpoint_path = "a/b"}};
  EXPECT_EQ(to_hex(encode_event(checkpoint)), "09000000000000f83f10013a0708031203612f62");
}

TEST(Event, IsKnownForWhatItIs) {
  const std::string record = encode_event({.wall_time = 2});
  EXPECT_EQ(message_kind(as_bytes(record)), MessageKind::event);
  EXPECT_EQ(read_event(as_bytes(record)).field, "file_version");
}

TEST(Event, HoldsTheStatusOfASession) {
  const auto status = [](SessionStatus of) {
    return parsed({.what = SessionLog{.status = of}}).session_log().status();
  };
  EXPECT_EQ(status(SessionStatus::start), proto::SessionLog::START);
  EXPECT_EQ(status(SessionStatus::stop), proto::SessionLog::STOP);
  EXPECT_EQ(status(SessionStatus::checkpoint), proto::SessionLog::CHECKPOINT);
}

// Otherwise protobuf would print an error and write a message that no reader accepts.
TEST(Event, WritesAPathThatIsNotUtf8AsOneThatCanBePrinted) {
  const proto::Event event = parsed({.what = SessionLog{.checkpoint_path = "jn\n\xff/a"}});
  EXPECT_EQ(event.session_log().checkpoint_path(), "jn\\x0a\\xff/a");
}

TEST(Event, HoldsHistograms) {
  const std::vector<float> values = {-1, 0, 2.5, 2.5};
  const proto::Event event =
      parsed({.what = std::vector<SummaryValue>{{"weights", HistogramSummary{values}}}});
  ASSERT_EQ(event.summary().value_size(), 1);
  EXPECT_EQ(event.summary().value(0).tag(), "weights");
  const proto::HistogramProto& histogram = event.summary().value(0).histo();
  const Histogram expected = make_histogram(values);
  EXPECT_EQ(histogram.min(), -1);
  EXPECT_EQ(histogram.max(), 2.5);
  EXPECT_EQ(histogram.num(), 4);
  EXPECT_EQ(histogram.sum(), 4);
  EXPECT_EQ(histogram.sum_squares(), 13.5);
  EXPECT_EQ(std::vector(histogram.bucket_limit().begin(), histogram.bucket_limit().end()),
            expected.limits);
  EXPECT_EQ(std::vector(histogram.bucket().begin(), histogram.bucket().end()), expected.counts);
}

TEST(Event, SaysHowManyNumbersAreNotFinite) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const proto::Event event =
      parsed({.what = std::vector<SummaryValue>{{"weights", HistogramSummary{{nan, 1, nan}}}}});
  ASSERT_EQ(event.summary().value_size(), 2);
  EXPECT_EQ(event.summary().value(0).histo().num(), 1);
  EXPECT_EQ(event.summary().value(1).tag(), "weights/not_finite");
  EXPECT_EQ(event.summary().value(1).simple_value(), 2);
}

TEST(Event, HoldsTheFirstImagesOfABatch) {
  const proto::Event event =
      parsed({.what = std::vector<SummaryValue>{{"input", summarize_images(grey_batch(5))}}});
  ASSERT_EQ(event.summary().value_size(), 3);
  for (int i = 0; i < 3; ++i) {
    const proto::Summary::Value& value = event.summary().value(i);
    EXPECT_EQ(value.tag(), "input/image/" + std::to_string(i));
    EXPECT_EQ(value.image().height(), 2);
    EXPECT_EQ(value.image().width(), 3);
    EXPECT_EQ(value.image().colorspace(), 1);
    const DecodedImage image = decode_image(as_bytes(value.image().encoded_image_string()));
    EXPECT_EQ(image.pixels, std::vector<uint8_t>(6, static_cast<uint8_t>(10 * (i + 1))));
  }
}

TEST(Event, NumbersNoSingleImage) {
  const ImageSummary one = summarize_images(grey_batch(5), 1);
  const proto::Event event = parsed({.what = std::vector<SummaryValue>{{"input", one}}});
  ASSERT_EQ(event.summary().value_size(), 1);
  EXPECT_EQ(event.summary().value(0).tag(), "input/image");
  EXPECT_EQ(summarize_images(grey_batch(2)).images.size(), 2u);
  EXPECT_EQ(summarize_images(grey_batch(0)).images.size(), 0u);
}

TEST(Event, RefusesImagesOfTooManyChannels) {
  ImageBatch batch;
  batch.reset({.height = 1, .width = 1, .channels = 5, .dtype = DType::uint8}, 1);
  const Event event = {.what = std::vector<SummaryValue>{{"x", summarize_images(batch)}}};
  EXPECT_EQ(error_of([&] { encode_event(event); }).kind(), ErrorKind::invalid_argument);
}

TEST(Event, CountsTheValuesItHolds) {
  const std::vector<SummaryValue> values = {{"x", HistogramSummary{std::vector<float>(1000)}},
                                            {"y", summarize_images(grey_batch(2))}};
  const size_t bytes = Event{.what = values}.bytes();
  EXPECT_GE(bytes, 4012u);
  EXPECT_LT(bytes, 4012u + 1000);
}

}  // namespace
}  // namespace recordpipe
