#include "python/native/arrow/arrow_schema.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/base/error.h"

namespace recordpipe::python {
namespace {

struct Field {
  std::string name;
  std::string format;
  std::vector<Field> children;
};

// What an exported ArrowSchema points to. A consumer may move a child out, and release it later
// than its parent.
struct ExportedSchema {
  std::string name;
  std::string format;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> child_pointers;

  ExportedSchema(Field field);
  ~ExportedSchema() {
    for (ArrowSchema& child : children) {
      if (child.release) child.release(&child);
    }
  }
  ExportedSchema(const ExportedSchema&) = delete;
  ExportedSchema& operator=(const ExportedSchema&) = delete;
};

void release_schema(ArrowSchema* schema) {
  schema->release = nullptr;
  delete static_cast<ExportedSchema*>(schema->private_data);
}

void export_field(Field field, ArrowSchema& out) {
  auto exported = std::make_unique<ExportedSchema>(std::move(field));
  out = {.format = exported->format.c_str(),
         .name = exported->name.c_str(),
         .metadata = nullptr,
         .flags = ARROW_FLAG_NULLABLE,
         .n_children = static_cast<int64_t>(exported->children.size()),
         .children = exported->child_pointers.data(),
         .dictionary = nullptr,
         .release = release_schema,
         .private_data = exported.get()};
  exported.release();
}

ExportedSchema::ExportedSchema(Field field)
    : name(std::move(field.name)), format(std::move(field.format)) {
  children.resize(field.children.size());
  for (size_t i = 0; i < children.size(); ++i) {
    export_field(std::move(field.children[i]), children[i]);
    child_pointers.push_back(&children[i]);
  }
}

std::string block_format(const OutputFeature& feature) {
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(feature.dtype.code);
  const int bits = feature.dtype.bits;
  const size_t width = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : bits == 64 ? 3 : 4;
  if (width < 4) {
    if (code == Code::Bool) return "b";
    if (code == Code::Int) return std::string(1, "csil"[width]);
    if (code == Code::UInt) return std::string(1, "CSIL"[width]);
    if (code == Code::Float && width > 0) return std::string(1, "?efg"[width]);
  }
  throw Error({.kind = ErrorKind::unsupported,
               .reason = "feature '" + printable(feature.name) +
                         "': Arrow has no type of numbers " + "of " + std::to_string(bits) +
                         " bits of this kind"});
}

std::string value_format(const OutputFeature& feature) {
  if (is_block(feature.form)) return block_format(feature);
  if (feature.kind == FeatureKind::floats) return "f";
  if (feature.kind == FeatureKind::int64s) return "l";
  return feature.is_text ? "U" : "Z";
}

Field list_of(std::string format, Field item) {
  item.name = "item";
  return {.name = "", .format = std::move(format), .children = {std::move(item)}};
}

Field field_of(const OutputFeature& feature, bool in_feature_lists) {
  if (feature.name.find('\0') != std::string::npos) {
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "feature '" + printable(feature.name) +
                           "': names of Arrow columns hold no null bytes"});
  }
  Field field{.name = "", .format = value_format(feature), .children = {}};
  for (size_t i = feature.shape.size(); i-- > 0;) {
    field = list_of("+w:" + std::to_string(feature.shape[i]), std::move(field));
  }
  if (feature.form == FeatureForm::ragged || feature.form == FeatureForm::ragged_tensor) {
    field = list_of("+L", std::move(field));
  }
  if (in_feature_lists) field = list_of("+L", std::move(field));
  field.name = feature.name;
  return field;
}

}  // namespace

void export_schema(const ParseSpec& spec, ArrowSchema& out) {
  Field root{.name = "", .format = "+s", .children = {}};
  std::set<std::string> names;
  for (const OutputFeature& feature : spec.outputs) {
    names.insert(feature.name);
    root.children.push_back(field_of(feature, false));
  }
  for (const OutputFeature& feature : spec.feature_lists) {
    if (names.contains(feature.name)) {
      throw Error({.kind = ErrorKind::unsupported,
                   .reason = "'" + printable(feature.name) + "' is in the context and in the " +
                             "feature lists, and both would become the Arrow column of this name",
                   .hint = "parse one of them"});
    }
    root.children.push_back(field_of(feature, true));
  }
  export_field(std::move(root), out);
}

}  // namespace recordpipe::python
