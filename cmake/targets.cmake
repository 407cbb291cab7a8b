# Functions for the libraries and programs. Paths are relative to the folder that calls them.

# Reading the standard library's headers takes half of the time of most files.
option(RECORDPIPE_PRECOMPILED_HEADERS "Compile with precompiled standard headers" OFF)
set(recordpipe_standard_headers
  <algorithm> <array> <atomic> <chrono> <condition_variable> <cstddef> <cstdint> <cstring>
  <exception> <functional> <map> <memory> <mutex> <numeric> <optional> <ranges> <set> <span> <sstream>
  <stdexcept> <string> <string_view> <thread> <type_traits> <unordered_map> <utility> <variant>
  <vector>)

# recordpipe_precompile(TARGET AS OTHER | HEADER...): TARGET is compiled with the precompiled headers
# of OTHER, which must have the same options; or with headers of its own, beside the standard ones.
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

# What every target of this project is compiled with; nothing of it is passed on to users but C++20
# and the include path.
function(recordpipe_configure target)
  # Private headers are included by their paths from the root.
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  if(RECORDPIPE_WARNINGS)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic
                           -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual>)
    # GCC 12 takes std::string's own copying for an overlap when it inlines it (its bug 105651).
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      target_compile_options(${target} PRIVATE
                             $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Wno-restrict>)
    endif()
    # GCC takes functions from precompiled headers for ours, not the system's, and reports where a
    # std::string's length might be negative, say. .ci/run compiles without them, too.
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND RECORDPIPE_PRECOMPILED_HEADERS)
      target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread>)
    endif()
    # At -O1 Clang says of each OpenMP loop that it wasn't vectorised.
    if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
      target_compile_options(${target} PRIVATE -Wno-pass-failed)
    endif()
  endif()
  if(RECORDPIPE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${RECORDPIPE_SANITIZE}
                           -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${RECORDPIPE_SANITIZE})
  endif()
endfunction()

# The standard headers, precompiled once for all targets that don't say otherwise.
add_library(recordpipe_standard OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/precompiled.cc)
recordpipe_configure(recordpipe_standard)
recordpipe_precompile(recordpipe_standard)

# recordpipe_left_out(RESULT TARGET LINKED...): true, and said, where something isn't there that
# TARGET links.
function(recordpipe_left_out result target)
  set(${result} OFF PARENT_SCOPE)
  foreach(item IN LISTS ARGN)
    string(REGEX REPLACE "^\\$<BUILD_INTERFACE:(.*)>$" "\\1" item "${item}")
    if(item MATCHES "::" AND NOT TARGET ${item})
      message(STATUS "Left out: ${target}, for there is no ${item}")
      set(${result} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# recordpipe_library(NAME DESCRIPTION TEXT HEADERS PATTERNS... SOURCES ... LINK ... LINK_PRIVATE ...
# PRECOMPILE ...): target recordpipe_NAME, alias recordpipe::NAME. After the libraries that it links.
# With a DESCRIPTION it is installed, and HEADERS with it: its public ones, below
# recordpipe_public_headers/recordpipe. PRECOMPILE as in recordpipe_precompile().
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

# recordpipe_sources(NAME HEADERS PATTERNS... SOURCES ...): more of recordpipe_NAME, whose folders
# list their parts. HEADERS are its public ones.
function(recordpipe_sources name)
  cmake_parse_arguments(arg "" "" "HEADERS;SOURCES" ${ARGN})
  target_sources(recordpipe_${name} PRIVATE ${arg_SOURCES})
  if(arg_HEADERS AND PROJECT_IS_TOP_LEVEL)
    list(TRANSFORM arg_HEADERS PREPEND ${recordpipe_public_headers}/recordpipe/)
    file(GLOB headers CONFIGURE_DEPENDS ${arg_HEADERS})
    target_sources(recordpipe_${name} PUBLIC FILE_SET HEADERS BASE_DIRS
                   ${recordpipe_public_headers} FILES ${headers})
  endif()
endfunction()

# recordpipe_program(NAME [PACKAGE tools | trainer] SOURCES ... LINK ... PRECOMPILE ...): with a PACKAGE
# it is installed (cmake/package.cmake).
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
