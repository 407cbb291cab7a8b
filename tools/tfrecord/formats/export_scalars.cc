// Exports the scalars of TensorBoard's event files as CSV: a row for each value.
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "dataset/example/event_view.h"
#include "recordpipe/base/error.h"
#include "recordpipe/toolkit/csv_examples.h"
#include "tools/tfrecord/formats/export_target.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/event_arguments.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

// The shortest text that is read as the same number, of a float as the same float; all digits of a
// whole number.
std::string number_text_of(double value) {
  constexpr double kMaxWhole = 0x1p53;
  const auto rounded = static_cast<float>(value);
  const bool is_whole = std::trunc(value) == value && std::abs(value) <= kMaxWhole;
  return double{rounded} == value && !is_whole ? fmt::format("{}", rounded)
                                               : fmt::format("{}", value);
}

class ScalarsTarget final : public ExportTarget {
 public:
  ScalarsTarget(const CommandContext& context, const TargetOptions& options)
      : progress_(context.progress),
        delimiter_(options.delimiter),
        events_(options.events),
        tags_(options.events.tags),
        output_(context, options.output) {
    write_row({"wall_time", "step", "tag", "value"});
  }

  void write(const ExportedRecord& record) override {
    if (record.message.kind() != MessageKind::event) {
      const std::string why = record.message.undecided();
      throw Error({.kind = ErrorKind::unsupported,
                   .reason = fmt::format("record {} is {}", record.number,
                                         why.empty() ? "not an Event of TensorBoard" : why),
                   .hint = why.starts_with("an Event ")
                               ? "--kind event reads it as one, without that field"
                               : "--to scalars and --tag are for event files"});
    }
    EventView event = read_event(record.data);
    tags_.add(event);
    if (!keep_selected(event, events_)) return;
    for (const SummaryValueView& value : event.summary) {
      if (!value.scalar) {
        ++others_;
        continue;
      }
      write_row({fmt::format("{}", event.wall_time), std::to_string(event.step), value.tag,
                 value.digits.empty() ? number_text_of(*value.scalar) : value.digits});
      ++rows_;
    }
  }

  std::string note(bool looked_at_all) const override { return tags_.note(looked_at_all); }

  std::optional<uint64_t> rows() const override { return rows_; }

  void close() override {
    output_.close();
    if (others_ == 0) return;
    progress_.warn(
        fmt::format("tfrecord export: left out {} that {} no scalar (an image, a "
                    "histogram, a text, ...)",
                    counted(others_, "value"), others_ == 1 ? "is" : "are"));
  }

 private:
  void write_row(std::initializer_list<std::string_view> cells) {
    bool first = true;
    for (const std::string_view cell : cells) {
      if (!first) output_.write(std::string_view(&delimiter_, 1));
      first = false;
      write_csv_cell(cell, output_, /*in_quotes=*/false, delimiter_);
    }
    output_.write("\n");
  }

  TerminalProgress& progress_;
  const char delimiter_;
  const EventFilter events_;
  TagsSeen tags_;
  Output output_;
  uint64_t rows_ = 0;
  uint64_t others_ = 0;
};

}  // namespace

std::unique_ptr<ExportTarget> scalars_target(const CommandContext& context,
                                             const TargetOptions& options) {
  return std::make_unique<ScalarsTarget>(context, options);
}

}  // namespace recordpipe
