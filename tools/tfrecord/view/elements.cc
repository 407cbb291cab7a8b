#include "tools/tfrecord/view/elements.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "dataset/base/base64.h"
#include "dataset/example/event_view.h"
#include "dataset/toolkit/names.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/version.h"
#include "recordpipe/io/sha256.h"
#include "recordpipe/toolkit/json_text.h"
#include "tools/support/html/escape_html.h"
#include "tools/tfrecord/text/record_text.h"
#include "tools/tfrecord/text/schema_text.h"
#include "tools/tfrecord/text/text_table.h"
#include "tools/tfrecord/view/page_assets.h"

namespace recordpipe {
namespace {

constexpr size_t kBins = 40;
constexpr double kHeight = 48;
constexpr double kBinWidth = 6;

// Returns 'sha256-...' for the content security policy.
std::string source_hash(std::string_view content) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(content)));
  std::string text = "'sha256-";
  append_base64(text, hash.digest());
  return text + "'";
}

}  // namespace

std::string page_title(const std::vector<std::string>& files) {
  std::string title = files.front().substr(files.front().find_last_of('/') + 1);
  if (title.empty()) title = files.front();
  return files.size() == 1 ? title : fmt::format("{} and {} more", title, files.size() - 1);
}

std::string page_head(const std::string& title, std::string_view script) {
  return fmt::format(
      R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src {}; script-src {}; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="tfrecord {}">
<title>{}</title>
<style>{}</style>
</head>
<body>
)",
      source_hash(kPageStyle), script.empty() ? "'none'" : source_hash(script), RECORDPIPE_VERSION,
      escape_html(title), kPageStyle);
}

std::string script_json(std::string json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else {
      out += c;
    }
  }
  return out;
}

std::string histogram_svg(const Distribution& numbers, std::string_view what) {
  const bool is_finite = std::isfinite(numbers.min()) && std::isfinite(numbers.max());
  const bool is_one = numbers.min() == numbers.max();
  if (!is_finite) return "";
  const std::vector<uint64_t> bins = numbers.histogram(is_one ? 1 : kBins);
  const uint64_t highest = *std::ranges::max_element(bins);
  const double width = kBinWidth * double(bins.size());
  std::string svg = fmt::format(
      R"(<svg class="histogram" role="img" viewBox="0 0 {} {}" preserveAspectRatio="none" )"
      R"(aria-label="Histogram of {}: {} to {}">)",
      kBinWidth * kBins, kHeight, escape_html(what), short_number(numbers.min()),
      short_number(numbers.max()));
  for (size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] == 0) continue;
    // Bars of small counts stay visible.
    const double height = std::max(1.5, kHeight * double(bins[i]) / double(highest));
    const double x = is_one ? (kBinWidth * kBins - width) / 2 : kBinWidth * double(i);
    svg += fmt::format(R"(<rect x="{}" y="{:.2f}" width="{}" height="{:.2f}"/>)", x,
                       kHeight - height, kBinWidth - 1, height);
  }
  return svg + "</svg>";
}

std::string histogram_with_range(const Distribution& numbers, std::string_view what) {
  return histogram_svg(numbers, what) +
         fmt::format(
             "<div class=\"range\"><span>{}</span><span>median {}</span><span>{}</span></div>",
             short_number(numbers.min()), short_number(numbers.quantile(0.5)),
             short_number(numbers.max()));
}

std::string feature_article(std::string_view name, std::string_view facts,
                            std::string_view picture) {
  return fmt::format("<article class=\"feature\"><h3>{}</h3><p>{}</p>{}</article>\n",
                     escape_html(name_text(name)), escape_html(facts), picture);
}

std::string bar_list(const std::vector<Bar>& bars) {
  uint64_t highest = 1;
  for (const Bar& bar : bars) highest = std::max(highest, bar.count);
  std::string list = "<ul class=\"bars\">";
  for (const Bar& bar : bars) {
    list += fmt::format(
        R"(<li><span class="name" title="{0}">{0}</span>)"
        R"(<svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">)"
        R"(<rect width="{1:.2f}" height="1"/></svg><span class="count">{2}</span></li>)",
        escape_html(bar.name), 100.0 * double(bar.count) / double(highest), grouped(bar.count));
  }
  return list + "</ul>";
}

namespace {

constexpr size_t kMaxCardRows = 100;
constexpr size_t kLongestContent = 500;

class CardWriter {
 public:
  explicit CardWriter(JsonText& json) : json_(json), card_(json) {}

  void number(std::string_view name, uint64_t value) { card_.key(name).number(value); }
  void text(std::string_view name, std::string_view value) { card_.key(name).string(value); }

  void image(const FoundImage& image) { append(image, card_.key("image")); }

  void episode(const Episode& episode) {
    JsonObject object(card_.key("episode"));
    object.key("steps").number(uint64_t{episode.steps});
    object.key("strips");
    json_.list(episode.strips, [&](const FilmStrip& strip) {
      json_.raw("[");
      json_.string(name_text(strip.name));
      json_.raw(", ");
      json_.list(strip.frames, [&](const auto& frame) {
        json_.raw(fmt::format("[{}, ", frame.first));
        append(frame.second, json_);
        json_.raw("]");
      });
      json_.raw("]");
    });
    object.key("plots");
    json_.list(episode.plots, [&](const Plot& plot) {
      JsonObject one(json_);
      one.key("name").string(name_text(plot.name));
      one.key("dimensions").number(uint64_t{plot.dimensions});
      one.key("min").string(short_number(plot.min));
      one.key("max").string(short_number(plot.max));
      one.key("lines").list(plot.lines, [&](const std::string& line) { json_.string(line); });
    });
  }

  void features(const MessageView& message) {
    begin_rows();
    for (const auto& [name, feature] : message.features()) {
      if (has_room()) row(name, json_kind(feature.kind()), values_text(feature));
    }
    for (const FeatureListView& list : message.feature_lists()) {
      if (has_room()) row(list.name(), "list", steps_text(list));
    }
    end_rows("features");
  }

  void event(const EventView& event) {
    begin_rows();
    if (has_room()) row("wall_time", "", time_text(event.wall_time));
    if (has_room()) row("step", "", std::to_string(event.step));
    for (const SummaryValueView& value : event.summary) {
      if (!has_room()) continue;
      row(value.tag, value.field, summary_value_text(value));
    }
    if (!event.field.empty() && event.field != "summary" && has_room()) {
      row(event.field, "", bytes_text(event.content, kLongestContent));
    }
    end_rows("values");
  }

 private:
  static void append(const FoundImage& image, JsonText& json) {
    JsonObject object(json);
    if (!image.problem.empty()) return object.key("problem").string(image.problem);
    std::string data;
    append_base64(data, image.file);
    object.key("type").string(image.type);
    object.key("data").string(data);
    object.key("width").number(uint64_t{image.width});
    object.key("height").number(uint64_t{image.height});
  }

  void begin_rows() { card_.key("features").raw("["); }
  bool has_room() { return rows_++ < kMaxCardRows; }
  void end_rows(std::string_view what) {
    if (rows_ > kMaxCardRows) row("…", "", fmt::format("{} {} in all", grouped(rows_), what));
    json_.raw("]");
  }
  void row(std::string_view name, std::string_view kind, const std::string& text) {
    json_.raw(rows_ == 1 ? "[" : ", [");
    json_.string(name_text(name));
    json_.raw(", ");
    json_.string(kind);
    json_.raw(", ");
    json_.string(text);
    json_.raw("]");
  }

  JsonText& json_;
  JsonObject card_;
  size_t rows_ = 0;  // number of rows
};

std::optional<EventView> event_of(const Card& card) {
  if (card.message.kind() != MessageKind::event) return std::nullopt;
  try {
    return read_event(card.record.data);
  } catch (const Error&) {
    return std::nullopt;  // invalid nested message: shown as bytes
  }
}

void write_card(const Card& card, JsonText& json) {
  CardWriter writer(json);
  if (card.file > 0) writer.number("file", card.file);
  writer.number("record", card.number);
  writer.number("offset", card.record.offset);
  writer.number("bytes", card.record.data.size());
  const std::string why = card.message.undecided();
  writer.text("kind",
              std::string(to_string(card.message.kind())) + (why.empty() ? "" : ": " + why));
  if (card.label) writer.text("label", *card.label);
  if (card.image) writer.image(*card.image);
  if (card.episode) writer.episode(*card.episode);
  if (const auto event = event_of(card)) {
    writer.event(*event);
  } else if (card.message.features().empty() && card.message.feature_lists().empty()) {
    writer.text("content", bytes_text(card.record.data, kLongestContent));
  } else {
    writer.features(card.message);
  }
}

}  // namespace

std::string card_json(const Card& card) {
  JsonText json;
  write_card(card, json);
  return script_json(json.text());
}

}  // namespace recordpipe
