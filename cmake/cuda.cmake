# Sets recordpipe_has_cuda: whether the CUDA backend, recordpipe::trainer_cuda, is built.
#
# RECORDPIPE_CUDA=AUTO builds the backend if nvcc, cuDNN, cuBLASLt and a driver are found, and
# otherwise reports what is missing. ON does not require a driver; if anything else is missing,
# configuring fails. OFF, the default inside another project, disables the backend. nvcc is found
# through CUDACXX, CMAKE_CUDA_COMPILER, PATH or /usr/local/cuda. The libraries are found beside the
# toolkit or in CMAKE_PREFIX_PATH.
#
# The root CMakeLists.txt includes this file: a language must be enabled in a common parent of all
# folders that use it.
set(recordpipe_cuda_default OFF)
if(PROJECT_IS_TOP_LEVEL)
  set(recordpipe_cuda_default AUTO)
endif()
set(RECORDPIPE_CUDA ${recordpipe_cuda_default} CACHE STRING "The CUDA backend: AUTO, ON or OFF")
set_property(CACHE RECORDPIPE_CUDA PROPERTY STRINGS AUTO ON OFF)
# Ampere, Hopper, and PTX, which drivers compile for later architectures.
set(RECORDPIPE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual CACHE STRING
    "Architectures of the CUDA backend, in the format of CMAKE_CUDA_ARCHITECTURES")

set(recordpipe_has_cuda OFF)
if(NOT RECORDPIPE_CUDA)
  return()
endif()
if(RECORDPIPE_SANITIZE)
  message(STATUS "Not building recordpipe::trainer_cuda: sanitizers don't support CUDA")
  return()
endif()
if(RECORDPIPE_CUDA STREQUAL AUTO)
  # Compiling the kernels takes minutes and is useless without a GPU. libcuda.so.1 is part of the
  # driver, not of the toolkit.
  find_library(driver libcuda.so.1 PATHS /usr/lib/wsl/lib NO_CACHE)
  if(NOT driver AND NOT EXISTS /dev/nvidiactl)
    message(STATUS "Not building recordpipe::trainer_cuda: NVIDIA driver not found "
                   "(-DRECORDPIPE_CUDA=ON builds it anyway)")
    return()
  endif()
endif()

set(missing "")
include(CheckLanguage)
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(recordpipe_nvcc nvcc PATHS /usr/local/cuda/bin)
  mark_as_advanced(recordpipe_nvcc)
  if(recordpipe_nvcc)
    set(ENV{CUDACXX} ${recordpipe_nvcc})
  endif()
endif()
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  set(missing "a working nvcc")
else()
  set(CMAKE_CUDA_ARCHITECTURES ${RECORDPIPE_CUDA_ARCHITECTURES})
  enable_language(CUDA)
  find_package(CUDAToolkit QUIET)
  find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR})
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
    set(missing "nvcc 12 or later")
  elseif(NOT CUDNN_INCLUDE_DIR OR NOT CUDNN_LIBRARY)
    set(missing "cuDNN (get it with tools/fetch_cudnn.sh)")
  elseif(NOT TARGET CUDA::cublasLt)
    set(missing "cuBLASLt")
  else()
    # From 9.8 on, engines can be listed for a GPU that is only described.
    file(STRINGS ${CUDNN_INCLUDE_DIR}/cudnn_version.h cudnn_version
         REGEX "#define CUDNN_(MAJOR|MINOR) ")
    string(REGEX REPLACE "[^0-9;]" "" cudnn_version "${cudnn_version}")
    string(REPLACE ";" "." cudnn_version "${cudnn_version}")
    if(NOT cudnn_version MATCHES "^9\\." OR cudnn_version VERSION_LESS 9.8)
      set(missing "cuDNN 9, 9.8 or later")
    endif()
  endif()
endif()
if(NOT missing)
  set(recordpipe_has_cuda ON)
elseif(RECORDPIPE_CUDA STREQUAL AUTO)
  message(STATUS "Not building recordpipe::trainer_cuda: it requires ${missing}")
else()
  message(FATAL_ERROR "RECORDPIPE_CUDA=ON requires ${missing}")
endif()
