// list_files: an indexed source whose plan has the files of its elements.
#include "recordpipe/pipeline/list_files.h"

#include <memory>
#include <utility>

#include "recordpipe/pipeline/internal/operators.h"
#include "recordpipe/record/input_files.h"

namespace recordpipe {

Dataset<std::string> list_files(std::vector<std::string> paths) {
  return list_files(posix_file_system(), std::move(paths));
}

Dataset<std::string> list_files(FileSystem& file_system, std::vector<std::string> paths) {
  paths = find_input_files(file_system, paths);
  std::vector<Parameter> parameters{{"files", paths.size()}};
  internal::SourceFiles files{&file_system, paths};
  using Values = internal::Indexed<std::string, std::vector<std::string>>;
  return internal::DatasetNode::source<std::string>(internal::indexed(
      "list_files", std::move(parameters), std::make_shared<const Values>(std::move(paths)),
      internal::element_ops<std::string>(), std::move(files)));
}

}  // namespace recordpipe
