#include "trainer/backend/cpu/reordered_variable.h"

namespace recordpipe {

ReorderedVariable::ReorderedVariable(const CpuContext& context, VariableId id,
                                     const onednn::Desc& row_major, const onednn::Desc& wanted)
    : context_(context),
      original_(row_major, context.engine, context.variables.at(id).data()),
      copy_(wanted == row_major ? original_ : dnnl::memory(wanted, context.engine)),
      reorder_(original_, copy_) {}

void ReorderedVariable::refresh() {
  if (copy_ == original_ || version_ == context_.variables.version()) return;
  reorder_.execute(context_.stream, original_, copy_);
  version_ = context_.variables.version();
}

ReorderedGradient::ReorderedGradient(const CpuContext& context, VariableId id,
                                     const onednn::Desc& row_major, const onednn::Desc& wanted)
    : context_(context),
      home_(row_major, context.engine, context.variables.at(id, Slot::gradient).data()),
      written_(wanted == row_major ? home_ : dnnl::memory(wanted, context.engine)),
      reorder_(written_, home_) {}

void ReorderedGradient::store() {
  if (written_ == home_) return;
  reorder_.execute(context_.stream, written_, home_);
}

}  // namespace recordpipe
