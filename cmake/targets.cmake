# Functions that define libraries and programs. Paths are relative to the calling folder.

# Parsing the standard library's headers takes half of the compile time of most files. A precompiled
# nlohmann/json.hpp costs each file half a second and saves less.
option(RECORDPIPE_PRECOMPILED_HEADERS "Compile with precompiled standard headers" OFF)
set(recordpipe_standard_headers
  <algorithm> <array> <atomic> <chrono> <condition_variable> <cstddef> <cstdint> <cstring>
  <exception> <functional> <map> <memory> <mutex> <numeric> <optional> <ranges> <set> <span> <sstream>
  <stdexcept> <string> <string_view> <thread> <type_traits> <unordered_map> <utility> <variant>
  <vector>)

# recordpipe_precompile(TARGET AS OTHER | HEADER...): compiles TARGET with the precompiled headers
# of OTHER, which must have the same compile options; or with HEADERs in addition to the standard
# ones.
function(recordpipe_precompile target)
  cmake_parse_arguments(arg "" "AS" "" ${ARGN})
  if(NOT RECORDPIPE_PRECOMPILED_HEADERS)
    return()
  endif()
  if(arg_AS)
    target_precompile_headers(${target} REUSE_FROM ${arg_AS})
  else()
    target_precompile_headers(${target} PRIVATE ${recordpipe_standard_headers} ${ARGN})
  endif()
endfunction()

# lld links in a quarter of the time of GNU ld: more than 70 programs are linked for the tests.
option(RECORDPIPE_LLD "Link with lld, if it is installed" OFF)
if(RECORDPIPE_LLD)
  find_program(RECORDPIPE_LLD_PROGRAM ld.lld)
  if(RECORDPIPE_LLD_PROGRAM)
    add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=lld>)
  endif()
endif()

# Sets the compile options of every target of this project. Only C++20 and the sanitizers' link
# option propagate to users.
function(recordpipe_configure target)
  # Private headers are included by their path from the root.
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  if(RECORDPIPE_WARNINGS)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic
                           -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual>)
    # GCC 12 reports overlapping copies in inlined std::string code, a false positive (GCC bug
    # 105651).
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      target_compile_options(${target} PRIVATE
                             $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Wno-restrict>)
    endif()
    # GCC treats functions from precompiled headers as ours, not the system's, and warns, for
    # example, that a std::string's length might be negative.
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND RECORDPIPE_PRECOMPILED_HEADERS)
      target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread>)
    endif()
    # To GCC, the sources of a unity build are headers, whose types should have no member of an
    # anonymous namespace.
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_UNITY_BUILD)
      target_compile_options(${target} PRIVATE
                             $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
    endif()
    # Clang warns for each OpenMP loop that it did not vectorise, as with sanitizers.
    if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
      target_compile_options(${target} PRIVATE -Wno-pass-failed)
    endif()
  endif()
  # GCC's garbage collector runs less often: 5 to 8 % less time, up to 400 MB more memory a compiler.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE
      $<$<AND:$<CONFIG:Debug>,$<COMPILE_LANGUAGE:CXX>>:--param=ggc-min-heapsize=524288>)
  endif()
  if(RECORDPIPE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${RECORDPIPE_SANITIZE}
                           -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${RECORDPIPE_SANITIZE})
  endif()
endfunction()

# The standard headers, precompiled once for all targets that do not name other headers.
add_library(recordpipe_standard OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/precompiled.cc)
recordpipe_configure(recordpipe_standard)
recordpipe_precompile(recordpipe_standard)

# recordpipe_left_out(RESULT TARGET LINKED...): if a target in LINKED doesn't exist, prints a
# message and sets RESULT to true.
function(recordpipe_left_out result target)
  set(${result} OFF PARENT_SCOPE)
  foreach(item IN LISTS ARGN)
    string(REGEX REPLACE "^\\$<BUILD_INTERFACE:(.*)>$" "\\1" item "${item}")
    if(item MATCHES "::" AND NOT TARGET ${item})
      message(STATUS "Not building ${target}: ${item} not found")
      set(${result} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# recordpipe_library(NAME DESCRIPTION TEXT HEADERS PATTERNS... SOURCES ... LINK ... LINK_PRIVATE ...
# PRECOMPILE ...): defines target recordpipe_NAME, alias recordpipe::NAME. The libraries that it
# links must be defined before. A library with a DESCRIPTION is installed with its public HEADERS,
# which are below recordpipe_public_headers/recordpipe. PRECOMPILE: the arguments of
# recordpipe_precompile().
function(recordpipe_library name)
  cmake_parse_arguments(arg "" "DESCRIPTION" "HEADERS;SOURCES;LINK;LINK_PRIVATE;PRECOMPILE" ${ARGN})
  set(target recordpipe_${name})
  recordpipe_left_out(left_out recordpipe::${name} ${arg_LINK} ${arg_LINK_PRIVATE})
  if(left_out)
    return()
  endif()
  add_library(${target} STATIC)
  add_library(recordpipe::${name} ALIAS ${target})
  recordpipe_sources(${name} HEADERS ${arg_HEADERS} SOURCES ${arg_SOURCES})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${recordpipe_public_headers}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC ${arg_LINK} PRIVATE ${arg_LINK_PRIVATE})
  recordpipe_configure(${target})
  if(NOT arg_PRECOMPILE)
    set(arg_PRECOMPILE AS recordpipe_standard)
  endif()
  recordpipe_precompile(${target} ${arg_PRECOMPILE})
  if(arg_DESCRIPTION)
    recordpipe_component(${name} "${arg_DESCRIPTION}")
  endif()
endfunction()

# recordpipe_always_optimise(TARGET): below -O2, GCC vectorises no loops; tests would wait for those
# over images.
function(recordpipe_always_optimise target)
  if(TARGET ${target} AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Debug>,$<COMPILE_LANGUAGE:CXX>>:-O2>)
  endif()
endfunction()

# recordpipe_sources(NAME HEADERS PATTERNS... SOURCES ...): adds sources and public HEADERS to
# recordpipe_NAME, for libraries with sources in several folders.
function(recordpipe_sources name)
  cmake_parse_arguments(arg "" "" "HEADERS;SOURCES" ${ARGN})
  target_sources(recordpipe_${name} PRIVATE ${arg_SOURCES})
  if(arg_HEADERS)
    list(TRANSFORM arg_HEADERS PREPEND ${recordpipe_public_headers}/recordpipe/)
    file(GLOB headers CONFIGURE_DEPENDS ${arg_HEADERS})
    recordpipe_old_paths(old_paths ${headers})
    if(PROJECT_IS_TOP_LEVEL)
      target_sources(recordpipe_${name} PUBLIC FILE_SET HEADERS
                     BASE_DIRS ${recordpipe_public_headers} ${recordpipe_moved}
                     FILES ${headers} ${old_paths})
    else()
      target_include_directories(recordpipe_${name} INTERFACE
                                 $<BUILD_INTERFACE:${recordpipe_moved}>)
    endif()
  endif()
endfunction()

# recordpipe_program(NAME [PACKAGE tools | trainer] SOURCES ... LINK ... PRECOMPILE ...): defines
# executable NAME. PACKAGE installs the program as a part of that Debian package
# (cmake/package.cmake).
function(recordpipe_program name)
  cmake_parse_arguments(arg "" "PACKAGE" "SOURCES;LINK;PRECOMPILE" ${ARGN})
  recordpipe_left_out(left_out ${name} ${arg_LINK})
  if(left_out)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  recordpipe_configure(${name})
  if(NOT arg_PRECOMPILE)
    set(arg_PRECOMPILE AS recordpipe_standard)
  endif()
  recordpipe_precompile(${name} ${arg_PRECOMPILE})
  if(arg_PACKAGE AND PROJECT_IS_TOP_LEVEL)
    install(TARGETS ${name} DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${arg_PACKAGE})
  endif()
endfunction()
