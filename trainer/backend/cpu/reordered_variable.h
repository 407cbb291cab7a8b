// A variable in the layout required by a oneDNN primitive, beside the row-major one used elsewhere.
// If both layouts are the same, there is no copy.
#pragma once

#include <cstdint>

#include "trainer/backend/cpu/cpu_variables.h"
#include "trainer/backend/cpu/layers/layer.h"

namespace recordpipe {

// A copy for reading, renewed after variables have changed.
class ReorderedVariable {
 public:
  ReorderedVariable(const CpuContext& context, VariableId id, const onednn::Desc& row_major,
                    const onednn::Desc& wanted);

  const dnnl::memory& memory() const { return copy_; }
  void refresh();

 private:
  const CpuContext& context_;
  dnnl::memory original_, copy_;
  dnnl::reorder reorder_;
  uint64_t version_ = 0;  // of the variables, when the copy was made
};

// The memory to which a primitive writes a gradient; store() copies it to the variable's gradient.
class ReorderedGradient {
 public:
  ReorderedGradient(const CpuContext& context, VariableId id, const onednn::Desc& row_major,
                    const onednn::Desc& wanted);

  const dnnl::memory& memory() const { return written_; }
  void store();

 private:
  const CpuContext& context_;
  dnnl::memory home_, written_;
  dnnl::reorder reorder_;
};

}  // namespace recordpipe
