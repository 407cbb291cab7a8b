#include "recordpipe/trainer/summary/event.h"

#include "recordpipe/base/error.h"
#include "recordpipe/image/encode_png.h"
#include "recordpipe/proto/event.pb.h"
#include "recordpipe/trainer/summary/histogram.h"
#include "recordpipe/trainer/summary/image_summary.h"

namespace recordpipe {
namespace {

size_t bytes_of(const ScalarSummary&) { return 0; }
size_t bytes_of(const HistogramSummary& summary) { return summary.values.size() * sizeof(float); }
size_t bytes_of(const ImageSummary& summary) { return summary.images.bytes().size(); }

// Encodes a value into a Summary.
struct ValueEncoder {
  const std::string& tag;
  proto::Summary& out;

  proto::Summary::Value& add(const std::string& with_tag) const {
    proto::Summary::Value& value = *out.add_value();
    value.set_tag(with_tag);
    return value;
  }

  void operator()(const ScalarSummary& summary) const {
    add(tag).set_simple_value(static_cast<float>(summary.value));
  }

  void operator()(const HistogramSummary& summary) const {
    const Histogram histogram = make_histogram(summary.values);
    proto::HistogramProto& message = *add(tag).mutable_histo();
    message.set_min(histogram.min);
    message.set_max(histogram.max);
    message.set_num(histogram.num);
    message.set_sum(histogram.sum);
    message.set_sum_squares(histogram.sum_squares);
    message.mutable_bucket_limit()->Assign(histogram.limits.begin(), histogram.limits.end());
    message.mutable_bucket()->Assign(histogram.counts.begin(), histogram.counts.end());
    if (histogram.not_finite > 0)
      add(tag + "/not_finite").set_simple_value(static_cast<float>(histogram.not_finite));
  }

  void operator()(const ImageSummary& summary) const {
    const ImageFormat& format = summary.images.format();
    for (size_t row = 0; row < summary.images.size(); ++row) {
      const std::vector<std::byte> png = encode_png(summary_pixels(summary.images, row),
                                                    format.height, format.width, format.channels);
      const bool only = summary.images.size() == 1;
      proto::Summary::Image& image =
          *add(tag + "/image" + (only ? "" : "/" + std::to_string(row))).mutable_image();
      image.set_height(static_cast<int32_t>(format.height));
      image.set_width(static_cast<int32_t>(format.width));
      image.set_colorspace(static_cast<int32_t>(format.channels));
      image.set_encoded_image_string(png.data(), png.size());
    }
  }
};

struct ContentEncoder {
  proto::Event& out;

  void operator()(const FileVersion&) const { out.set_file_version("brain.Event:2"); }

  void operator()(const std::vector<SummaryValue>& values) const {
    proto::Summary& summary = *out.mutable_summary();
    for (const SummaryValue& value : values)
      std::visit(ValueEncoder{value.tag, summary}, value.content);
  }

  void operator()(const SessionLog& log) const {
    proto::SessionLog& message = *out.mutable_session_log();
    switch (log.status) {
      case SessionStatus::start:
        message.set_status(proto::SessionLog::START);
        break;
      case SessionStatus::stop:
        message.set_status(proto::SessionLog::STOP);
        break;
      case SessionStatus::checkpoint:
        message.set_status(proto::SessionLog::CHECKPOINT);
        break;
    }
    message.set_checkpoint_path(printable(log.checkpoint_path));  // protobuf requires UTF-8
  }
};

}  // namespace

size_t Event::bytes() const {
  size_t sum = sizeof(Event);
  if (const auto* values = std::get_if<std::vector<SummaryValue>>(&what))
    for (const SummaryValue& value : *values)
      sum += sizeof(value) + value.tag.size() +
             std::visit([](const auto& content) { return bytes_of(content); }, value.content);
  return sum;
}

std::string encode_event(const Event& event) {
  proto::Event message;
  message.set_wall_time(event.wall_time);
  message.set_step(static_cast<int64_t>(event.step));
  std::visit(ContentEncoder{message}, event.what);
  return message.SerializeAsString();
}

}  // namespace recordpipe
