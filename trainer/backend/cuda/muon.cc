#include "trainer/backend/cuda/muon.h"

#include <algorithm>

namespace recordpipe::cuda {
namespace {

MatmulShape shape(uint32_t rows, uint32_t columns, uint32_t depth, bool transposed_a,
                  bool transposed_b) {
  return {.element = Element::float32,
          .tf32 = false,
          .rows = rows,
          .columns = columns,
          .depth = depth,
          .transposed_a = transposed_a,
          .transposed_b = transposed_b};
}

}  // namespace

Muon::Muon(const Device& device, uint32_t rows, uint32_t columns)
    : device_(device),
      wide_(rows <= columns),
      side_(std::min(rows, columns)),
      size_(rows * columns),
      gram_(device, shape(side_, side_, std::max(rows, columns), !wide_, wide_)),
      square_(device, shape(side_, side_, side_, false, false)),
      product_(device, shape(rows, columns, side_, false, false)),
      direction_(size_t{size_} * sizeof(float)),
      more_(size_t{size_} * sizeof(float)),
      gram_values_(size_t{side_} * side_ * sizeof(float)),
      polynomial_(size_t{side_} * side_ * sizeof(float)),
      squares_((squares_size(size_) + 1) * sizeof(double)) {}

void Muon::apply(MuonUpdate update) const {
  const Stream stream = device_.compute();
  float *direction = direction_.as<float>(), *more = more_.as<float>();
  float *gram = gram_values_.as<float>(), *polynomial = polynomial_.as<float>();
  update.size = size_;
  update.direction = direction;
  update.squares = squares_.as<double>();
  muon_direction(stream, update);
  muon_normalize(stream, update);
  for (int step = 0; step < 3; ++step) {
    gram_.run(direction, direction, gram);
    square_.run(gram, gram, polynomial);
    combine(stream, side_ * side_, -4.775f, gram, 2.0315f, polynomial);
    if (wide_)
      product_.run(polynomial, direction, more);
    else
      product_.run(direction, polynomial, more);
    combine(stream, size_, 1, more, 3.4445f, direction);
  }
  muon_apply(stream, update);
}

}  // namespace recordpipe::cuda
