#include "recordpipe/trainer/training/confusion_matrix.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace recordpipe {
namespace {

std::optional<double> share(uint64_t part, uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(std::optional<double> share, int digits) {
  return share ? fmt::format("{:.{}f}%", 100 * *share, digits) : "-";
}

}  // namespace

size_t ConfusionMatrix::index(size_t label, size_t prediction) const {
  if (label >= classes_ || prediction >= classes_)
    throw std::out_of_range("ConfusionMatrix: not one of its classes");
  return label * classes_ + prediction;
}

uint64_t ConfusionMatrix::images(size_t label) const {
  uint64_t sum = 0;
  for (size_t prediction = 0; prediction < classes_; ++prediction) sum += count(label, prediction);
  return sum;
}

uint64_t ConfusionMatrix::predictions(size_t prediction) const {
  uint64_t sum = 0;
  for (size_t label = 0; label < classes_; ++label) sum += count(label, prediction);
  return sum;
}

uint64_t ConfusionMatrix::images() const {
  uint64_t sum = 0;
  for (const uint64_t count : counts_) sum += count;
  return sum;
}

uint64_t ConfusionMatrix::correct() const {
  uint64_t sum = 0;
  for (size_t label = 0; label < classes_; ++label) sum += count(label, label);
  return sum;
}

std::optional<double> ConfusionMatrix::recall(size_t label) const {
  return share(count(label, label), images(label));
}

std::optional<double> ConfusionMatrix::precision(size_t prediction) const {
  return share(count(prediction, prediction), predictions(prediction));
}

std::vector<size_t> shown_classes(const ConfusionMatrix& matrix, size_t names) {
  std::vector<size_t> shown;
  for (size_t index = 0; index < matrix.classes(); ++index)
    if (index < names || matrix.images(index) > 0 || matrix.predictions(index) > 0)
      shown.push_back(index);
  return shown;
}

std::string class_name(std::span<const std::string> names, size_t index) {
  return index < names.size() ? names[index] : std::to_string(index);
}

std::string confusion_text(const ConfusionMatrix& matrix, std::span<const std::string> names) {
  const std::vector<size_t> classes = shown_classes(matrix, names.size());
  if (classes.empty()) return "";
  std::vector<std::string> titles;
  const std::string precisions = "precision";
  size_t title_width = precisions.size(), width = 5;  // "100%" and a space
  for (const size_t label : classes) {
    titles.push_back(std::to_string(label));
    if (label < names.size()) titles.back() += " " + names[label];
    title_width = std::max(title_width, titles.back().size());
    for (const size_t prediction : classes)
      width = std::max(width, fmt::formatted_size(" {}", matrix.count(label, prediction)));
  }

  std::string text = fmt::format("{:{}}", "", title_width);
  for (const size_t prediction : classes) text += fmt::format("{:>{}}", prediction, width);
  text += "  accuracy\n";
  for (size_t row = 0; row < classes.size(); ++row) {
    text += fmt::format("{:<{}}", titles[row], title_width);
    for (const size_t prediction : classes)
      text += fmt::format("{:>{}}", matrix.count(classes[row], prediction), width);
    text += fmt::format("{:>10}\n", percent(matrix.recall(classes[row]), 1));
  }
  text += fmt::format("{:<{}}", precisions, title_width);
  for (const size_t prediction : classes)
    text += fmt::format("{:>{}}", percent(matrix.precision(prediction), 0), width);
  return text + "\n";
}

}  // namespace recordpipe
