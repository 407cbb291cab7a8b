# Functions that define tests. Paths are relative to the calling folder.
find_package(GTest REQUIRED)
# Debian's, as for the Python package: one of a version manager may take ten times as long to start.
find_program(Python3_EXECUTABLE python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Compiles several sources of a test program at a time: their common headers and template
# instantiations take most of the compile time. With OFF, a change to one source recompiles only
# that source.
option(RECORDPIPE_UNITY_TESTS "Compile the sources of a test program together" ON)

# With sanitizers, tests are not optimised: they are mostly templates, and -O0 takes two thirds of
# the compile time of -O1. At -O1, the preset dev's level, GCC 12 wrongly reports uninitialised
# variables in the standard library; Clang checks for them in the preset asan.
function(recordpipe_configure_test target)
  if(RECORDPIPE_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
    target_compile_definitions(${target} PRIVATE RECORDPIPE_SANITIZED)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Debug>:-Wno-maybe-uninitialized>)
  endif()
endfunction()

# GoogleTest's headers, precompiled once for all tests.
add_library(recordpipe_test_headers OBJECT EXCLUDE_FROM_ALL
            ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
target_link_libraries(recordpipe_test_headers PRIVATE GTest::gmock)
recordpipe_configure(recordpipe_test_headers)
recordpipe_configure_test(recordpipe_test_headers)
recordpipe_precompile(recordpipe_test_headers <gmock/gmock.h> <gtest/gtest.h>)

# recordpipe_test(NAME OWN_MAIN PLAIN_THREADS SHARDS N SOURCES ... LINK ... LABELS ... ENVIRONMENT
# NAME=VALUE...): defines a GoogleTest program NAME, and a CTest test of the same name that runs it: a
# process for each of its tests would take minutes more with sanitizers. A program that runs for long
# is split into SHARDS, the CTest tests NAME.1 to NAME.N. (A single test:
# build/dev/NAME --gtest_filter=Suite.Test.) OWN_MAIN: a source has main(), which may exit with status
# 77, "skipped". PLAIN_THREADS: with RECORDPIPE_TEST_THREADS=plain in its environment, the program
# runs on plain threads instead of oneTBB's (dataset/parallel), as all do with sanitizers.
#
# All have the label asan: the preset asan builds (the target asan_tests) and runs what has it, the
# preset tsan what has the label threads (the target thread_tests).
add_custom_target(asan_tests)
add_custom_target(thread_tests)
function(recordpipe_test name)
  cmake_parse_arguments(arg "OWN_MAIN;PLAIN_THREADS" "SHARDS" "SOURCES;LINK;LABELS;ENVIRONMENT" ${ARGN})
  if(arg_PLAIN_THREADS)
    list(APPEND arg_SOURCES ${PROJECT_SOURCE_DIR}/tests/support/plain_threads.cc)
  endif()
  set(main GTest::gmock_main)
  if(arg_OWN_MAIN)
    set(main GTest::gmock)
  endif()
  recordpipe_program(${name} SOURCES ${arg_SOURCES} LINK ${arg_LINK} ${main}
                     PRECOMPILE AS recordpipe_test_headers)
  if(NOT TARGET ${name})
    return()
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${RECORDPIPE_UNITY_TESTS})
  target_compile_definitions(${name} PRIVATE RECORDPIPE_DATA_DIR="${PROJECT_SOURCE_DIR}/data")
  recordpipe_configure_test(${name})
  set(rest LABELS asan ${arg_LABELS})
  if(arg_OWN_MAIN)
    list(APPEND rest PROPERTIES SKIP_RETURN_CODE 77)
  endif()
  add_dependencies(asan_tests ${name})
  if(threads IN_LIST arg_LABELS)
    add_dependencies(thread_tests ${name})
  endif()
  if(arg_SHARDS)
    math(EXPR last "${arg_SHARDS} - 1")
    foreach(shard RANGE ${last})
      math(EXPR number "${shard} + 1")
      recordpipe_command_test(${name}.${number} COMMAND ${name} COST 20
        ENVIRONMENT GTEST_TOTAL_SHARDS=${arg_SHARDS} GTEST_SHARD_INDEX=${shard} ${arg_ENVIRONMENT}
        ${rest})
    endforeach()
  else()
    recordpipe_command_test(${name} COMMAND ${name} ENVIRONMENT ${arg_ENVIRONMENT}
                            ${rest})
  endif()
endfunction()

# recordpipe_plain_threads_test(NAME TESTS...): defines the CTest test NAME.plain_threads for TESTS of
# the program NAME that are skipped with sanitizers (*: all), where all programs run on plain threads.
function(recordpipe_plain_threads_test name)
  if(RECORDPIPE_TBB AND NOT RECORDPIPE_SANITIZE)
    list(JOIN ARGN ":" tests)
    recordpipe_command_test(${name}.plain_threads COMMAND ${name} --gtest_filter=${tests}
                            ENVIRONMENT RECORDPIPE_TEST_THREADS=plain)
  endif()
endfunction()

# recordpipe_command_test(NAME COMMAND ... COST SECONDS LABELS ... ENVIRONMENT NAME=VALUE...
# PROPERTIES NAME VALUE...): defines a CTest test that runs a command. CTest starts tests of a higher
# COST first, so that no long test runs alone at the end; without it, those that took longer before.
function(recordpipe_command_test name)
  cmake_parse_arguments(arg "" "COST" "COMMAND;ENVIRONMENT;PROPERTIES;LABELS" ${ARGN})
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" ${arg_PROPERTIES})
  if(arg_COST)
    set_tests_properties(${name} PROPERTIES COST ${arg_COST})
  endif()
  if(arg_ENVIRONMENT)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
endfunction()

# recordpipe_python_tests(NAME SCRIPT CLASS... PYTHON ... COST ... LABELS ... ENVIRONMENT ...
# PROPERTIES ...): defines CTest tests NAME.CLASS that each run one class of a Python unittest script; without CLASS,
# one test NAME that runs the whole script. PYTHON is the interpreter (default: the one that CMake
# has found). Their output names each test, so that list_skipped.py finds those that are skipped.
# Compiled modules are kept in the build folder. No test multiplies matrices: without the threads
# that NumPy's OpenBLAS starts for each core, an import takes two thirds of the CPU time.
function(recordpipe_python_tests name script)
  cmake_parse_arguments(arg "" "PYTHON;COST" "LABELS;ENVIRONMENT;PROPERTIES" ${ARGN})
  if(NOT arg_PYTHON)
    set(arg_PYTHON Python3::Interpreter)
  endif()
  set(command ${arg_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${script} --verbose)
  set(rest COST ${arg_COST} LABELS ${arg_LABELS} PROPERTIES ${arg_PROPERTIES}
      ENVIRONMENT ${arg_ENVIRONMENT} PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1
                  PYTHONPYCACHEPREFIX=${PROJECT_BINARY_DIR}/pycache)
  foreach(class IN LISTS arg_UNPARSED_ARGUMENTS)
    recordpipe_command_test(${name}.${class} COMMAND ${command} ${class} ${rest})
  endforeach()
  if(NOT arg_UNPARSED_ARGUMENTS)
    recordpipe_command_test(${name} COMMAND ${command} ${rest})
  endif()
endfunction()
