#include "recordpipe/trainer/report/evaluation_section.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "dataset/base/base64.h"
#include "recordpipe/image/encode_png.h"
#include "recordpipe/trainer/report/axis.h"
#include "tools/support/html/escape_html.h"

namespace recordpipe {
namespace {

std::string percent(std::optional<double> share) {
  return share && std::isfinite(*share) ? fmt::format("{:.1f}%", 100 * *share) : "–";
}

// Names in the order of the classes, escaped.
std::vector<std::string> escaped_names(const ConfusionMatrix& matrix,
                                       std::span<const std::string> names) {
  std::vector<std::string> escaped;
  for (size_t index = 0; index < matrix.classes(); ++index)
    escaped.push_back(escape_html(class_name(names, index)));
  return escaped;
}

// A cell's shade, 0 to 10, is proportional to the square root of its share of the row's images,
// because most mistakes are a few percent.
std::string cell(const ConfusionMatrix& matrix, const std::vector<std::string>& names, size_t label,
                 size_t prediction) {
  const uint64_t count = matrix.count(label, prediction), images = matrix.images(label);
  const double share = images > 0 ? static_cast<double>(count) / static_cast<double>(images) : 0.0;
  // Nonzero values are always visible.
  const int shade =
      count == 0 ? 0 : std::max(1, static_cast<int>(std::lround(10 * std::sqrt(share))));
  return fmt::format(
      R"html(<td class="{} s{}" title="{} of {} images of {} taken for {} ({})">{}</td>)html",
      label == prediction ? "right" : "wrong", shade, count, images, names[label],
      names[prediction], percent(share), count);
}

std::string matrix_html(const ConfusionMatrix& matrix, const std::vector<std::string>& names,
                        const std::vector<size_t>& classes) {
  std::string html = R"(<div class="block"><h3>Confusion matrix</h3>
<p class="note">A row holds the images of a class, a column what they were taken for. The stronger the shade, the greater the share of the row.</p>
<div class="scroll"><table class="confusion">
<thead><tr><td></td>)";
  for (const size_t prediction : classes)
    html += fmt::format(R"(<th scope="col" title="{0}"><span>{0}</span></th>)", names[prediction]);
  html += "</tr></thead>\n<tbody>\n";
  for (const size_t label : classes) {
    html += fmt::format(R"(<tr><th scope="row" title="{0}">{0}</th>)", names[label]);
    for (const size_t prediction : classes) html += cell(matrix, names, label, prediction);
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table></div></div>\n";
}

std::string classes_html(const ConfusionMatrix& matrix, const std::vector<std::string>& names,
                         const std::vector<size_t>& classes) {
  std::string html = R"(<div class="block"><h3>Classes</h3>
<p class="note">Accuracy (recall): how many of a class' images were taken for it. Precision: how many of those taken for it are of it.</p>
<div class="scroll"><table class="classes">
<thead><tr><th scope="col">class</th><th scope="col">images</th><th scope="col" colspan="2">accuracy</th><th scope="col">precision</th></tr></thead>
<tbody>
)";
  for (const size_t index : classes)
    html += fmt::format(
        R"(<tr><th scope="row" title="{0}">{0}</th><td>{1}</td><td>{2}</td>)"
        R"(<td class="bar"><svg aria-hidden="true"><rect width="{3:.1f}%" height="100%"/></svg></td>)"
        "<td>{4}</td></tr>\n",
        names[index], matrix.images(index), percent(matrix.recall(index)),
        100 * matrix.recall(index).value_or(0), percent(matrix.precision(index)));
  return html + "</tbody>\n</table></div></div>\n";
}

std::string png_uri(const Mistake& mistake, const FeatureShape& image) {
  std::string uri = "data:image/png;base64,";
  append_base64(uri, encode_png(mistake.pixels, image.height, image.width, image.channels));
  return uri;
}

std::string mistakes_html(const Evaluation& evaluation, const std::vector<std::string>& names) {
  const size_t wrong = evaluation.total.images - evaluation.total.correct;
  const size_t channels = evaluation.image.channels;
  const bool have_picture = channels == 1 || channels == 3;
  if (evaluation.mistakes.empty() || !have_picture) return "";
  std::string html = fmt::format(
      "<h3>Misclassified images</h3>\n<p class=\"note\">{} of the {} misclassified images, the "
      "most confident first. Below each: its class, the predicted class and its "
      "probability.</p>\n<div class=\"mistakes\">\n",
      evaluation.mistakes.size(), wrong);
  for (const Mistake& mistake : evaluation.mistakes)
    html += fmt::format(
        R"(<figure><img src="{}" width="{}" height="{}" alt="image {}: {}" title="image {} of the split">)"
        "<figcaption><b>{}</b><br>→ {} {}</figcaption></figure>\n",
        png_uri(mistake, evaluation.image), evaluation.image.width, evaluation.image.height,
        mistake.image, names.at(mistake.label), mistake.image, names[mistake.label],
        names.at(mistake.prediction), percent(mistake.probability));
  return html + "</div>\n";
}

}  // namespace

std::string evaluation_html(const FinalEvaluation& final_evaluation,
                            std::span<const std::string> class_names) {
  const Evaluation& evaluation = final_evaluation.evaluation;
  const BatchResult& total = evaluation.total;
  const std::vector<std::string> names = escaped_names(evaluation.confusion, class_names);
  const std::vector<size_t> classes = shown_classes(evaluation.confusion, class_names.size());
  const std::string split = escape_html(final_evaluation.split);
  if (total.images == 0)
    return fmt::format(
        "<section>\n<h2>Evaluation</h2>\n<p>There were no images in the {} split."
        "</p>\n</section>\n",
        split);
  const double accuracy = static_cast<double>(total.correct) / static_cast<double>(total.images);
  return fmt::format(
             "<section>\n<h2>Evaluation</h2>\n<p>After step {}, on the {} split: <b>{:.2f}%</b> "
             "({} of {} images) classified correctly, loss {}.</p>\n<div class=\"blocks\">\n",
             final_evaluation.step, split, 100 * accuracy, total.correct, total.images,
             short_text(total.loss)) +
         matrix_html(evaluation.confusion, names, classes) +
         classes_html(evaluation.confusion, names, classes) + "</div>\n" +
         mistakes_html(evaluation, names) + "</section>\n";
}

}  // namespace recordpipe
