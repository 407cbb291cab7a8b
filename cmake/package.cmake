# `cpack` in a build folder makes three Debian packages: recordpipe (tfrecord and the programs for
# CIFAR-10's records), recordpipe-trainer (the training programs) and librecordpipe-dev (static
# libraries, headers, the CMake package, pkg-config files).
#
# dpkg-shlibdeps finds the libraries that the programs link, but not libcurl, which they load
# (dataset/http/transfer/libcurl.h). librecordpipe-dev depends on the
# development packages of all libraries that the static libraries link: the group "libraries that
# are linked" of tools/packages.txt. The Debian source package (tools/packaging/debian) reads this file,
# too.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../tools/packages.txt lines)
foreach(line IN LISTS lines)  # each group becomes a list
  if(line MATCHES "^# ")
    string(MAKE_C_IDENTIFIER ${line} group)
  elseif(line MATCHES "^([a-z][^ ]*)")
    list(APPEND ${group} ${CMAKE_MATCH_1})
  endif()
endforeach()
list(JOIN __libraries_that_are_linked ", " linked)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR recordpipe)
set(CPACK_PACKAGE_CONTACT "the recordpipe developers <recordpipe@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL tools trainer development)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME recordpipe)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libcurl4t64 | libcurl4")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "Make, inspect, check, repair and convert TFRecord files
 The command tfrecord, with man pages and completions, and the programs that
 make and read CIFAR-10's records.")

set(CPACK_DEBIAN_TRAINER_PACKAGE_NAME recordpipe-trainer)
set(CPACK_DEBIAN_TRAINER_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_TRAINER_DESCRIPTION "Train small CNNs on CIFAR-10's records
 ResNet and the network of TensorFlow's tutorial, with checkpoints, event files and reports.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME librecordpipe-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${linked}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS libopenmpi-dev)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "TFRecord files and input pipelines in C++20: development files
 Static libraries, headers, the CMake package and pkg-config files.")
