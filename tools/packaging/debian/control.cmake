# Writes debian/control from control.in, with the descriptions of cmake/package.cmake and the packages
# of tools/packages.txt.
#
# usage: cmake -DOUT=FILE -P control.cmake
include(${CMAKE_CURRENT_LIST_DIR}/../../../cmake/package.cmake)
set(trainer libdnnl-dev libspdlog-dev ocl-icd-opencl-dev)
set(depends ${__libraries_that_are_linked})
list(REMOVE_ITEM depends ${trainer})
list(JOIN depends ", " depends)
set(build_depends ${__building} ${__libraries_that_are_linked} ${__libraries_that_are_compiled_in}
    ${__generated_code__and_other_uses_of__proto_files})
list(REMOVE_ITEM build_depends ${trainer} g++)  # build-essential has g++
list(JOIN build_depends ", " build_depends)
configure_file(${CMAKE_CURRENT_LIST_DIR}/control.in ${OUT} @ONLY)
