#include "recordpipe/trainer/model/resnet.h"

#include <string>

#include "recordpipe/base/error.h"

namespace recordpipe {

Network resnet(const ResNetOptions& options) {
  if (options.layers < 8 || (options.layers - 2) % 6 != 0)
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "a ResNet of " + std::to_string(options.layers) +
                           " layers can't be built: the number must be 6 n + 2",
                 .hint = "8, 14, 20, 32, 44, 56 and 110 are usual"});
  const size_t blocks = (options.layers - 2) / 6;

  Network network(options.input);
  // ReLU follows (a default in network.h), after the residual is added.
  const auto batch_norm = [&](NodeId input, const std::string& name,
                              std::optional<NodeId> residual = {}) {
    return network.batch_norm(input, name,
                              {.residual = residual,
                               .decay = options.batch_norm_decay,
                               .epsilon = options.batch_norm_epsilon});
  };

  NodeId x = network.conv2d(/*input=*/0, "conv", {.filters = 16});
  x = batch_norm(x, "bn");
  for (size_t stage = 1; stage <= 3; ++stage) {
    const size_t filters = size_t{8} << stage;  // 16, 32, 64
    for (size_t block = 0; block < blocks; ++block) {
      const std::string name =
          "stage" + std::to_string(stage) + "/block" + std::to_string(block) + "/";
      const bool shrink = stage > 1 && block == 0;
      const size_t stride = shrink ? 2 : 1;
      const NodeId shortcut =
          shrink ? network.pool_and_pad(x, name + "shortcut", stride, filters) : x;
      x = network.conv2d(x, name + "conv1", {.filters = filters, .stride = stride});
      x = batch_norm(x, name + "bn1");
      x = network.conv2d(x, name + "conv2", {.filters = filters});
      x = batch_norm(x, name + "bn2", shortcut);
    }
  }
  x = network.global_average_pool(x, "global_pool");
  x = network.dense(x, "dense", options.classes);
  network.softmax_cross_entropy(x, options.label_smoothing);
  return network;
}

}  // namespace recordpipe
