#include "tools/tfrecord/view/html.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "dataset/applications/html/escape_html.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

constexpr size_t kBins = 40;
constexpr double kHeight = 48;
constexpr double kBinWidth = 6;

}  // namespace

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
    // What is there is seen, however little.
    const double height = std::max(1.5, kHeight * double(bins[i]) / double(highest));
    const double x = is_one ? (kBinWidth * kBins - width) / 2 : kBinWidth * double(i);
    svg += fmt::format(R"(<rect x="{}" y="{:.2f}" width="{}" height="{:.2f}"/>)", x,
                       kHeight - height, kBinWidth - 1, height);
  }
  return svg + "</svg>";
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

}  // namespace recordpipe
