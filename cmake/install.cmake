# Functions for `cmake --install`: they install the libraries, the headers, the CMake package and
# one pkg-config file per library (programs: targets.cmake). Each library is a component of the
# package with its own export set, so that a user of one library finds and links only the
# dependencies of that library.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(recordpipe_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/recordpipe)
# The path from a pkg-config file to the prefix; relative, so that an installation can be moved.
file(RELATIVE_PATH recordpipe_prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)

# External dependencies: the target, its CMake package, and its pkg-config module or linker option.
# Header-only dependencies are linked as $<BUILD_INTERFACE:...> and are not listed.
set(recordpipe_foreign
  "CURL::libcurl|CURL|libcurl"
  "DNNL::dnnl|dnnl|-ldnnl"
  "JPEG::JPEG|JPEG|libjpeg"
  "LibArchive::LibArchive|LibArchive|libarchive"
  "MPI::MPI_CXX|MPI|mpi-cxx"
  "OpenMP::OpenMP_CXX|OpenMP|-fopenmp"
  "OpenSSL::Crypto|OpenSSL|libcrypto"
  "PNG::PNG|PNG|libpng"
  "TBB::tbb|TBB|tbb"
  "Threads::Threads|Threads|-pthread"
  "ZLIB::ZLIB|ZLIB|zlib"
  "fmt::fmt|fmt|fmt"
  "protobuf::libprotobuf|Protobuf|protobuf")

# recordpipe_foreign_of(ITEM PACKAGE PKGCONFIG): looks up ITEM in the table and sets the variables
# PACKAGE and PKGCONFIG; to "" if ITEM is not in the table.
function(recordpipe_foreign_of item package pkgconfig)
  set(${package} "" PARENT_SCOPE)
  set(${pkgconfig} "" PARENT_SCOPE)
  foreach(row IN LISTS recordpipe_foreign)
    string(REPLACE "|" ";" row "${row}")
    list(GET row 0 target)
    if(target STREQUAL item)
      list(GET row 1 row_package)
      list(GET row 2 row_pkgconfig)
      set(${package} ${row_package} PARENT_SCOPE)
      set(${pkgconfig} ${row_pkgconfig} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# recordpipe_component(NAME DESCRIPTION): lets recordpipe_install_package() install target
# recordpipe_NAME.
function(recordpipe_component name description)
  set_property(GLOBAL APPEND PROPERTY recordpipe_to_install ${name})
  set_target_properties(recordpipe_${name} PROPERTIES
                        EXPORT_NAME ${name} RECORDPIPE_DESCRIPTION "${description}")
endfunction()

# Installs target recordpipe_NAME with its public headers as component NAME, and recordpipe-NAME.pc.
function(recordpipe_install_library name)
  set(target recordpipe_${name})
  get_target_property(description ${target} RECORDPIPE_DESCRIPTION)
  get_target_property(headers ${target} HEADER_SET)
  if(headers)
    set(header_set FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  endif()
  install(TARGETS ${target} EXPORT recordpipe-${name} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          ${header_set})
  install(EXPORT recordpipe-${name} NAMESPACE recordpipe:: DESTINATION ${recordpipe_cmake_dir}
          FILE recordpipe-${name}-targets.cmake)

  set(components "")
  set(packages "")
  set(requires "")
  set(options "")
  get_target_property(items ${target} LINK_LIBRARIES)
  foreach(item IN LISTS items)
    if(item MATCHES "^recordpipe::(.*)$")
      list(APPEND components ${CMAKE_MATCH_1})
      list(APPEND requires recordpipe-${CMAKE_MATCH_1})
    elseif(item MATCHES "^\\$<INSTALL_INTERFACE:(.*)>$")
      list(APPEND options -l${CMAKE_MATCH_1})
    elseif(NOT item MATCHES "^\\$<BUILD_INTERFACE:")
      recordpipe_foreign_of(${item} package pkgconfig)
      if(NOT package)
        message(FATAL_ERROR "${target} links ${item}: add it to the table in cmake/install.cmake")
      endif()
      list(APPEND packages ${package})
      if(pkgconfig MATCHES "^-")
        list(APPEND options ${pkgconfig})
      else()
        list(APPEND requires ${pkgconfig})
      endif()
    endif()
  endforeach()

  list(JOIN components " " components)
  list(JOIN packages " " packages)
  set_property(GLOBAL APPEND PROPERTY recordpipe_components
    "list(APPEND _recordpipe_installed ${name})"
    "set(_recordpipe_${name}_components ${components})"
    "set(_recordpipe_${name}_packages ${packages})")
  list(JOIN requires ", " requires)
  list(JOIN options " " options)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/recordpipe.pc.in
                 ${PROJECT_BINARY_DIR}/pkgconfig/recordpipe-${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/recordpipe-${name}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# recordpipe_install_package(): installs all components and the CMake package. Must be called after
# all components are defined.
function(recordpipe_install_package)
  get_property(names GLOBAL PROPERTY recordpipe_to_install)
  foreach(name IN LISTS names)
    recordpipe_install_library(${name})
  endforeach()
  get_property(recordpipe_components GLOBAL PROPERTY recordpipe_components)
  list(JOIN recordpipe_components "\n" recordpipe_components)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/recordpipe-config.cmake.in
                                ${PROJECT_BINARY_DIR}/recordpipe-config.cmake
                                INSTALL_DESTINATION ${recordpipe_cmake_dir}
                                NO_SET_AND_CHECK_MACRO)
  # Before 1.0, a minor version may be incompatible.
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/recordpipe-config-version.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/recordpipe-config.cmake
                ${PROJECT_BINARY_DIR}/recordpipe-config-version.cmake
          DESTINATION ${recordpipe_cmake_dir})
endfunction()
