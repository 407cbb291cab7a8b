// Counts of predicted classes by true class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recordpipe {

class ConfusionMatrix {
 public:
  ConfusionMatrix() = default;
  explicit ConfusionMatrix(size_t classes) : classes_(classes), counts_(classes * classes) {}

  // Adds an image of class `label` classified as `prediction`. Both functions throw
  // std::out_of_range for an invalid class.
  void add(size_t label, size_t prediction) { ++counts_.at(index(label, prediction)); }
  uint64_t count(size_t label, size_t prediction) const {
    return counts_.at(index(label, prediction));
  }

  size_t classes() const { return classes_; }
  uint64_t images(size_t label) const;            // of this class
  uint64_t predictions(size_t prediction) const;  // the number of images classified as this class
  uint64_t images() const;                        // all
  uint64_t correct() const;                       // all correctly classified images

  // The fraction of a class's images that are classified correctly: its accuracy. Empty if the
  // class has no images.
  std::optional<double> recall(size_t label) const;
  // The fraction of the images classified as a class that belong to it. Empty if there are none.
  std::optional<double> precision(size_t prediction) const;

 private:
  size_t index(size_t label, size_t prediction) const;

  size_t classes_ = 0;
  std::vector<uint64_t> counts_;  // [label][prediction]
};

// The classes to show in a table: those with a name (the first `names`), and those with images or
// predictions. A network may have more outputs than there are classes.
std::vector<size_t> shown_classes(const ConfusionMatrix& matrix, size_t names);

// "cat", or "10" if the class has no name.
std::string class_name(std::span<const std::string> names, size_t index);

// The matrix for a terminal: a line per class with the counts of its images by predicted class
// (columns are numbered) and its accuracy (recall); the precisions below. Lines end in '\n'.
std::string confusion_text(const ConfusionMatrix& matrix, std::span<const std::string> names);

}  // namespace recordpipe
