// Steps and episodes of RLDS data sets: steps(), episode_statistics().
#pragma once

#include <nanobind/nanobind.h>

namespace recordpipe::python {

void define_steps(nanobind::module_& module);

}  // namespace recordpipe::python
