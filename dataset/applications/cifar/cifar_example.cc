#include "dataset/applications/cifar/cifar_example.h"

#include "recordpipe/example_builder.h"

namespace recordpipe {

void append_cifar_example(const CifarBatch& batch, size_t row, std::string& out) {
  ExampleBuilder example;
  example.set_bytes("image", batch.image(row)).set_int64("label", batch.labels[row]);
  if (!batch.coarse_labels.empty()) {
    example.set_int64("coarse_label", batch.coarse_labels[row]);
    example.set_int64("fine_label", batch.labels[row]);
  }
  example.append_to(out);
}

}  // namespace recordpipe
