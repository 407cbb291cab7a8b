// Which classes images were taken for, by the class that they are of.
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

  // An image of class `label` that was taken for `prediction`. Both throw std::out_of_range for
  // what is no class.
  void add(size_t label, size_t prediction) { ++counts_.at(index(label, prediction)); }
  uint64_t count(size_t label, size_t prediction) const {
    return counts_.at(index(label, prediction));
  }

  size_t classes() const { return classes_; }
  uint64_t images(size_t label) const;            // that are of this class
  uint64_t predictions(size_t prediction) const;  // that were taken for it
  uint64_t images() const;                        // all
  uint64_t correct() const;                       // all that were taken for what they are

  // Of the images of a class, the share that was taken for it: its accuracy. Nothing where there
  // are none.
  std::optional<double> recall(size_t label) const;
  // Of the images that were taken for a class, the share that is of it. Nothing where there are
  // none.
  std::optional<double> precision(size_t prediction) const;

 private:
  size_t index(size_t label, size_t prediction) const;

  size_t classes_ = 0;
  std::vector<uint64_t> counts_;  // [label][prediction]
};

// The classes that a table shows: those with a name (the first `names`), and those that have images
// or were predicted. A network may choose from more classes than there are.
std::vector<size_t> shown_classes(const ConfusionMatrix& matrix, size_t names);

// "cat", or "10" where the class has no name.
std::string class_name(std::span<const std::string> names, size_t index);

// The matrix for a terminal: a line for each class, whose columns are what its images were taken
// for, by number, and its accuracy (recall); the precisions below. Lines end in '\n'.
std::string confusion_text(const ConfusionMatrix& matrix, std::span<const std::string> names);

}  // namespace recordpipe
