// Variables of a small network.
#include <cstdio>

#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/model/resnet.h"

using namespace recordpipe;

int main() {
  const Network network = resnet({.layers = 8});
  CpuBackend backend;
  const auto variables = backend.make_variables(network);
  std::printf("%s: half the squared norm is %g\n", backend.name().c_str(),
              variables->half_squared_norm());
}
