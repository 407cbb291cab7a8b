# The CUDA backend, recordpipe::trainer_cuda: whether it is built, in recordpipe_has_cuda.
#
# RECORDPIPE_CUDA=AUTO builds it where nvcc, cuDNN, cuBLASLt and a driver are found, and says why
# not; ON needs no driver, and makes it an error if something else is missing; OFF, the default within
# another project, doesn't look. Found where the toolkit is, or in CMAKE_PREFIX_PATH: nvcc by CUDACXX,
# CMAKE_CUDA_COMPILER, PATH or /usr/local/cuda.
#
# Included by the root's CMakeLists.txt itself: a language is enabled above all that use it.
set(recordpipe_cuda_default OFF)
if(PROJECT_IS_TOP_LEVEL)
  set(recordpipe_cuda_default AUTO)
endif()
set(RECORDPIPE_CUDA ${recordpipe_cuda_default} CACHE STRING "The CUDA backend: AUTO, ON or OFF")
set_property(CACHE RECORDPIPE_CUDA PROPERTY STRINGS AUTO ON OFF)
# Ampere, Hopper, and for what comes later the portable code that drivers compile.
set(RECORDPIPE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual CACHE STRING
    "What the CUDA backend is compiled for, as CMAKE_CUDA_ARCHITECTURES")

set(recordpipe_has_cuda OFF)
if(NOT RECORDPIPE_CUDA)
  return()
endif()
if(RECORDPIPE_SANITIZE)
  message(STATUS "Left out: recordpipe::trainer_cuda, for the sanitizers don't know CUDA")
  return()
endif()
if(RECORDPIPE_CUDA STREQUAL AUTO)
  # Compiling the kernels takes minutes, for nothing where no GPU can be used. A toolkit brings no
  # libcuda.so.1, drivers do.
  find_library(driver libcuda.so.1 PATHS /usr/lib/wsl/lib NO_CACHE)
  if(NOT driver AND NOT EXISTS /dev/nvidiactl)
    message(STATUS "Left out: recordpipe::trainer_cuda, for there is no NVIDIA driver "
                   "(-DRECORDPIPE_CUDA=ON builds it nevertheless)")
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
  set(missing "nvcc that works")
else()
  set(CMAKE_CUDA_ARCHITECTURES ${RECORDPIPE_CUDA_ARCHITECTURES})
  enable_language(CUDA)
  find_package(CUDAToolkit QUIET)
  find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR})
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
    set(missing "nvcc 12 or later")
  elseif(NOT CUDNN_INCLUDE_DIR OR NOT CUDNN_LIBRARY)
    set(missing "cuDNN (tools/fetch_cudnn.sh fetches it)")
  elseif(NOT TARGET CUDA::cublasLt)
    set(missing "cuBLASLt")
  else()
    file(STRINGS ${CUDNN_INCLUDE_DIR}/cudnn_version.h cudnn_major REGEX "#define CUDNN_MAJOR 9")
    if(NOT cudnn_major)
      set(missing "cuDNN 9")
    endif()
  endif()
endif()
if(NOT missing)
  set(recordpipe_has_cuda ON)
elseif(RECORDPIPE_CUDA STREQUAL AUTO)
  message(STATUS "Left out: recordpipe::trainer_cuda, for there is no ${missing}")
else()
  message(FATAL_ERROR "RECORDPIPE_CUDA is ON, but there is no ${missing}")
endif()
