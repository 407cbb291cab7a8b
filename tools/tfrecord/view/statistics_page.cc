#include "tools/tfrecord/view/statistics_page.h"

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "dataset/toolkit/names.h"
#include "recordpipe/toolkit/json_text.h"
#include "tools/support/html/escape_html.h"
#include "tools/tfrecord/records/damage_report.h"
#include "tools/tfrecord/text/record_text.h"
#include "tools/tfrecord/text/schema_text.h"
#include "tools/tfrecord/text/text_table.h"
#include "tools/tfrecord/view/elements.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxRows = 200;  // of the map
constexpr size_t kMaxBars = 20;   // different values of a feature

std::string alert(const std::string& text) {
  return fmt::format("<p class=\"alert\" role=\"alert\">{}</p>\n", escape_html(text));
}

std::string intro(const std::string& title, const FeatureStatistics& all, size_t files) {
  std::string text =
      fmt::format("<header>\n<h1>{}</h1>\n<p class=\"facts\">{}, {}", escape_html(title),
                  counted(all.records, "record"), byte_count(all.record_sizes.total));
  if (files > 1) text += ", " + counted(files, "file");
  text += "</p>\n";
  if (all.skipped.regions > 0) text += alert("Left out: " + describe(all.skipped));
  if (all.left_out > 0) text += alert("Left out: " + left_out_text(all.left_out));
  if (all.undecided.count > 0) text += alert(undecided_text(all.undecided, ""));
  return text + "</header>\n<main>\n";
}

// A bar of the file's size, with marks where it is damaged; all of it if that isn't known.
std::string file_row(const SurveyedFile& file, uint64_t largest) {
  const uint64_t bytes = file.bytes.value_or(0);
  std::string bar;
  const auto mark = [&](std::string_view kind, uint64_t begin, uint64_t end) {
    // Wide enough to be seen.
    const double width = std::max(0.3, 100.0 * double(end - begin) / double(largest));
    const double x = std::min(100.0 * double(begin) / double(largest), 100 - width);
    bar +=
        fmt::format(R"(<rect class="{}" x="{:.3f}" width="{:.3f}" height="1"/>)", kind, x, width);
  };
  if (bytes > 0) mark(file.damage != nullptr && file.is_compressed ? "somewhere" : "", 0, bytes);
  std::string facts = file.bytes ? byte_count(bytes) : "size unknown";
  if (file.damage != nullptr) {
    if (!file.is_compressed && bytes > 0) {
      for (const auto& [begin, end] : file.damage->places) {
        mark("lost", std::min(begin, bytes), std::min(end, bytes));
      }
    }
    facts += "; " + describe(file.damage->counts);
  }
  return fmt::format(
      R"(<li><span class="name" title="{0}">{0}</span>)"
      R"(<svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">{1}</svg>)"
      R"(<span class="count">{2}</span></li>)",
      escape_html(file.name), bar, escape_html(facts));
}

std::string files_section(const std::vector<SurveyedFile>& files) {
  Distribution sizes;
  uint64_t largest = 1;
  size_t damaged = 0;
  for (const SurveyedFile& file : files) {
    if (file.bytes) sizes.add(static_cast<double>(*file.bytes));
    largest = std::max(largest, file.bytes.value_or(0));
    damaged += file.damage != nullptr ? 1 : 0;
  }
  if (files.size() == 1 && damaged == 0) return "";
  std::string text = R"(<section aria-labelledby="files-title">
<h2 id="files-title">Files</h2>
)";
  if (sizes.count() > 1 && sizes.min() < sizes.max()) {
    text += "<div class=\"sizes\"><p class=\"note\">Sizes in bytes</p>" +
            histogram_with_range(sizes, "file sizes in bytes") + "</div>\n";
  }
  // Of many files, only the damaged ones are shown.
  const bool has_all = files.size() <= kMaxRows;
  const bool only_damaged = !has_all && damaged > 0;
  const size_t shown = std::min(only_damaged ? damaged : files.size(), kMaxRows);
  text += "<p class=\"note\">";
  text += has_all ? "Each file's size"
                  : fmt::format("The sizes of {} {}files", grouped(shown),
                                only_damaged ? "damaged " : "");
  if (damaged > 0) {
    text += fmt::format(", and where it is damaged: {} of {} {} damage", grouped(damaged),
                        grouped(files.size()), damaged == 1 ? "has" : "have");
  }
  text += ".</p>\n<ul class=\"bars map\">";
  size_t rows = 0;
  for (const SurveyedFile& file : files) {
    if (rows == shown) break;
    if (only_damaged && file.damage == nullptr) continue;
    text += file_row(file, largest);
    ++rows;
  }
  return text + "</ul>\n</section>\n";
}

// Bars if all different values are known and few, else a histogram.
template <typename Value, typename Text>
std::string picture(const FrequentValues<Value>& frequent, bool is_all,
                    const Distribution& distribution, std::string_view what, const Text& text_of) {
  if (is_all && frequent.exact() && frequent.distinct() <= kMaxBars) {
    std::vector<Bar> bars;
    for (const auto& [value, times] : frequent.top(kMaxBars))
      bars.push_back({text_of(value), times});
    return bar_list(bars);
  }
  return distribution.count() == 0 ? "" : histogram_with_range(distribution, what);
}

std::string moments_text(const Moments& moments, std::string_view of) {
  if (moments.count() == 0) return "";
  return fmt::format("; {}mean {}, sd {}", of, short_number(moments.mean()),
                     short_number(moments.standard_deviation()));
}

std::string article(std::string_view name, const ValueStatistics& values,
                    const FeatureStatistics& all, bool has_steps) {
  const auto numbers_picture = [&](const auto& numbers) {
    return picture(numbers.frequent, true, numbers.distribution, name_text(name),
                   [](auto value) { return fmt::format("{}", value); });
  };
  std::string facts{json_kind(values.shape.kind())};
  if (const std::string lists = values_text(values.shape); !lists.empty()) {
    facts += ", " + lists + (has_steps ? " a step" : "");
  }
  if (!has_steps && all.with_features > 0) {
    facts += ", in " + share_text(values.shape.with_list(), all.with_features) + " of the records";
  }
  std::string pictures;
  if (values.int64s.count > 0) {
    facts += moments_text(values.int64s.moments, "");
    pictures += numbers_picture(values.int64s);
  }
  if (values.floats.count > 0) {
    facts += moments_text(values.floats.moments, "");
    if (values.floats.nans > 0) facts += "; " + counted(values.floats.nans, "NaN");
    pictures += numbers_picture(values.floats);
  }
  if (const BytesStatistics& bytes = values.bytes; bytes.count > 0) {
    facts += moments_text(bytes.lengths.moments, "lengths: ");
    pictures +=
        picture(bytes.frequent, bytes.long_values == 0, bytes.lengths.distribution,
                "lengths of " + name_text(name), [](const std::string& value) {
                  return bytes_text(std::as_bytes(std::span(value)), BytesStatistics::kShort);
                });
  }
  return feature_article(name, facts, pictures);
}

}  // namespace

void FileDamage::add(const DamagedRegion& region) {
  counts.add(region);
  if (places.size() < kMaxPlaces) places.emplace_back(region.begin, region.end);
}

void write_statistics_page(Output& out, const FeatureStatistics& all,
                           const std::vector<SurveyedFile>& files) {
  std::vector<std::string> names;
  for (const SurveyedFile& file : files) names.push_back(file.name);
  const std::string title = page_title(names);
  out.write(page_head(title));
  out.write(intro(title, all, files.size()));
  out.write(files_section(files));
  out.write(
      "<section aria-labelledby=\"features-title\">\n<h2 id=\"features-title\">Features</h2>\n"
      "<div class=\"features\">\n");
  if (const Distribution& sizes = all.record_sizes.distribution; sizes.count() > 0) {
    out.write(feature_article("record sizes", "bytes" + moments_text(all.record_sizes.moments, ""),
                              histogram_with_range(sizes, "record sizes in bytes")));
  }
  for (const auto& [name, values] : all.features) out.write(article(name, values, all, false));
  for (const auto& [name, values] : all.feature_lists) out.write(article(name, values, all, true));
  out.write(
      "</div>\n</section>\n</main>\n<footer>Made by tfrecord stats. This page holds all it "
      "shows, and asks for nothing from the network.</footer>\n</body>\n</html>\n");
}

}  // namespace recordpipe
