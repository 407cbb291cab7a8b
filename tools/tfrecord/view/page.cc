#include "tools/tfrecord/view/page.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "dataset/toolkit/names.h"
#include "recordpipe/toolkit/json_text.h"
#include "tools/support/html/escape_html.h"
#include "tools/tfrecord/text/schema_text.h"
#include "tools/tfrecord/text/text_table.h"
#include "tools/tfrecord/view/elements.h"
#include "tools/tfrecord/view/episode.h"
#include "tools/tfrecord/view/page_assets.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxNamedFiles = 40;
constexpr size_t kMaxBars = 20;  // of a feature other than the label

size_t feature_count(const InferredSchema& schema) {
  return schema.features.size() + schema.feature_lists.size();
}

std::string intro(const PageContent& content) {
  const InferredSchema& schema = content.overview.schema;
  std::string text = fmt::format("<header>\n<h1>{}</h1>\n<p class=\"facts\">{} record{} read",
                                 escape_html(page_title(content.files)), grouped(schema.records),
                                 schema.records == 1 ? "" : "s");
  if (schema.records > 0) text += fmt::format(", {}", escape_html(kind_text(schema)));
  const size_t features = feature_count(schema);
  if (features > 0) text += ", " + counted(features, "feature");
  text += "</p>\n";
  if (content.files.size() > 1) {
    text += "<ul class=\"files\">";
    for (size_t i = 0; i < std::min(content.files.size(), kMaxNamedFiles); ++i) {
      text += "<li>" + escape_html(content.files[i]) + "</li>";
    }
    if (content.files.size() > kMaxNamedFiles) {
      text += fmt::format("<li>… {} in all</li>", content.files.size());
    }
    text += "</ul>\n";
  }
  if (const Distribution& sizes = content.overview.sizes;
      sizes.count() > 0 && sizes.min() < sizes.max()) {
    text += "<div class=\"sizes\"><p class=\"note\">Record sizes in bytes</p>" +
            histogram_with_range(sizes, "record sizes in bytes") + "</div>\n";
  }
  for (const std::string& damage : content.damage) {
    text += "<p class=\"alert\" role=\"alert\">" + escape_html(damage) + "</p>\n";
  }
  return text + "</header>\n";
}

// Names the features chosen for the image and the label, and the reason.
std::string choices(const PageContent& content) {
  const ImageFinder& images = content.images;
  const Labels& labels = content.labels;
  std::string text;
  if (images.found_any()) {
    text += fmt::format(" Images: {}{}", name_text(*images.feature()),
                        images.feature_was_said()   ? ""
                        : images.feature_is_usual() ? " (guessed by its name)"
                                                    : " (the first feature that holds one)");
    text += images.how().empty() ? "." : ", " + images.how() + ".";
  } else if (!images.misfit().empty()) {
    text += fmt::format(" No images: {}.", images.misfit());
  }
  if (content.frames_side) {
    text +=
        fmt::format(" Episodes: up to {} frames of up to {} cameras", kFramesShown, kCamerasShown);
    if (*content.frames_side > 0) {
      text += fmt::format(", large ones reduced to {} pixels", *content.frames_side);
    }
    text += fmt::format("; up to {} features, a line for each dimension.", kPlotsShown);
  }
  if (labels.found_any()) {
    text += fmt::format(" Labels: {}{}.", name_text(labels.feature()),
                        labels.feature_was_said() ? "" : " (guessed by its name)");
  }
  return text;
}

std::string records_section(const PageContent& content) {
  return fmt::format(R"(<section id="records" aria-labelledby="records-title">
<h2 id="records-title">Records</h2>
<p class="note">{}</p>
<div id="toolbar" class="toolbar" hidden>
<label id="filter-label" hidden>Label <select id="filter"><option>all</option></select></label>
<div class="pager"><button type="button" id="previous">Previous</button>
<output id="place"></output><button type="button" id="next">Next</button></div>
</div>
<div id="sheet" data-features="{}"></div>
<noscript><p class="alert">The records need JavaScript; what is below doesn't.</p></noscript>
</section>
)",
                     escape_html(content.sampling + choices(content)),
                     feature_count(content.overview.schema));
}

// Draws bars for few distinct values or a histogram for many numbers; otherwise returns "".
std::string picture_of(const PageContent& content, const std::string& name) {
  const bool is_label = name == content.labels.feature();
  const auto counts = content.overview.values.find(name);
  if (counts != content.overview.values.end() && !counts->second.too_many) {
    std::vector<Bar> bars;
    for (const auto& [value, count] : counts->second.integers) {
      const std::string* const label = is_label ? content.labels.name(value) : nullptr;
      bars.push_back({std::to_string(value) + (label != nullptr ? " " + *label : ""), count});
    }
    for (const auto& [value, count] : counts->second.texts) {
      bars.push_back({value.empty() ? "\"\"" : value, count});
    }
    if (is_label || bars.size() <= kMaxBars) return bar_list(bars);
  }
  const auto numbers = content.overview.numbers.find(name);
  if (numbers == content.overview.numbers.end() || numbers->second.count() == 0) return "";
  return histogram_with_range(numbers->second, name_text(name));
}

std::string steps_range(const InferredFeatureList& list) {
  if (list.min_steps == list.max_steps) return counted(list.min_steps, "step");
  return fmt::format("{} to {}", grouped(list.min_steps), counted(list.max_steps, "step"));
}

std::string features_section(const PageContent& content) {
  const InferredSchema& schema = content.overview.schema;
  if (schema.features.empty() && schema.feature_lists.empty()) return "";
  std::string text = R"(<section aria-labelledby="features-title">
<h2 id="features-title">Features</h2>
)" + fmt::format("<p class=\"note\">Of all {} record{} read.</p>\n<div class=\"features\">\n",
                 grouped(schema.records), schema.records == 1 ? "" : "s");
  size_t count = 0;
  const auto facts = [&](std::string_view kind, const std::string& values, uint64_t records) {
    return fmt::format("{}{}{}, in {} of the records", kind, values.empty() ? "" : ", ", values,
                       share_text(records, schema.records));
  };
  for (const auto& [name, feature] : schema.features) {
    if (count++ >= Overview::kMaxFeatures) continue;
    text += feature_article(
        name, facts(json_kind(feature.kind()), values_text(feature), feature.with_list()),
        picture_of(content, name));
  }
  for (const auto& [name, list] : schema.feature_lists) {
    if (count++ >= Overview::kMaxFeatures) continue;
    const std::string values = values_text(list.step);
    text += feature_article(name,
                            facts(json_kind(list.step.kind()),
                                  values.empty() ? "no values" : values + " a step", list.records) +
                                ", each with " + steps_range(list),
                            "");
  }
  if (count > Overview::kMaxFeatures) {
    text += feature_article("…", grouped(count) + " features in all", "");
  }
  return text + "</div>\n</section>\n";
}

constexpr char kDetail[] = R"(<dialog id="detail" aria-labelledby="detail-title">
<div class="head"><h2 id="detail-title"></h2>
<button type="button" id="detail-previous">Previous</button>
<button type="button" id="detail-next">Next</button>
<button type="button" id="detail-close">Close</button></div>
<div class="body" id="detail-body"></div>
</dialog>
)";

std::string files_json(const std::vector<std::string>& files) {
  JsonText json;
  json.list(files, [&](const std::string& file) { json.string(file); });
  return script_json(json.text());
}

}  // namespace

uint64_t write_page(Output& out, const PageContent& content) {
  uint64_t written = 0;
  const auto write = [&](std::string_view text) {
    out.write(text);
    written += text.size();
  };
  write(page_head(page_title(content.files), kPageScript));
  write(intro(content));
  write("<main>\n");
  write(records_section(content));
  write(features_section(content));
  write(
      "</main>\n<footer>Made by tfrecord view. This page holds all it shows, and asks for "
      "nothing from the network.</footer>\n");
  write(kDetail);
  write("<script type=\"application/json\" id=\"files\">" + files_json(content.files) +
        "</script>\n<script type=\"application/json\" id=\"data\">[");
  std::string_view separator = "\n";
  for (const std::string_view card : content.sample.texts()) {
    write(separator);
    write(card);
    separator = ",\n";
  }
  write("]</script>\n<script>");
  write(kPageScript);
  write("</script>\n</body>\n</html>\n");
  return written;
}

}  // namespace recordpipe
