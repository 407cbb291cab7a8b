# The CUDA backend: recordpipe::trainer_cuda, where it can be built.
#
# RECORDPIPE_CUDA=AUTO takes it where nvcc, cuDNN and cuBLASLt are found, and says why not; ON makes
# that an error; OFF, the default within another project, doesn't look. Found where the toolkit is,
# or in CMAKE_PREFIX_PATH: nvcc by CUDACXX, CMAKE_CUDA_COMPILER, PATH or /usr/local/cuda.
set(recordpipe_cuda_default OFF)
if(PROJECT_IS_TOP_LEVEL)
  set(recordpipe_cuda_default AUTO)
endif()
set(RECORDPIPE_CUDA ${recordpipe_cuda_default} CACHE STRING "The CUDA backend: AUTO, ON or OFF")
set_property(CACHE RECORDPIPE_CUDA PROPERTY STRINGS AUTO ON OFF)
# Ampere, Hopper, and for what comes later the portable code that drivers compile.
set(RECORDPIPE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual CACHE STRING
    "What the CUDA backend is compiled for, as CMAKE_CUDA_ARCHITECTURES")

# Sources that need no CUDA: tests compile them for the CPU, too.
set(recordpipe_cuda_common
  trainer/backend/cuda/batch_norm_layer.cc
  trainer/backend/cuda/bias_relu_part.cc
  trainer/backend/cuda/conv2d_layer.cc
  trainer/backend/cuda/cuda_backend.cc
  trainer/backend/cuda/cuda_runner.cc
  trainer/backend/cuda/cuda_variables.cc
  trainer/backend/cuda/dense_layer.cc
  trainer/backend/cuda/gradient_processor.cc
  trainer/backend/cuda/host_exchange.cc
  trainer/backend/cuda/kernel_layers.cc
  trainer/backend/cuda/layer.cc
  trainer/backend/cuda/multi_gpu_backend.cc
  trainer/backend/cuda/multi_gpu_variables.cc
  trainer/backend/cuda/upload.cc
  trainer/backend/cuda/variable_layout.cc)
# The kernels: nvcc makes them kernels, other compilers loops (launch.h).
set(recordpipe_cuda_kernels
  trainer/backend/cuda/batch_norm_kernels.cu
  trainer/backend/cuda/bias_relu_kernels.cu
  trainer/backend/cuda/distortion_kernels.cu
  trainer/backend/cuda/gradient_kernels.cu
  trainer/backend/cuda/input_kernels.cu
  trainer/backend/cuda/local_response_norm_kernels.cu
  trainer/backend/cuda/loss_kernels.cu
  trainer/backend/cuda/pooling_kernels.cu
  trainer/backend/cuda/update_kernels.cu)

# What is missing, if anything, in `result`. Enables the language and finds the libraries.
macro(recordpipe_find_cuda result)
  set(${result} "")
  if(NOT TARGET recordpipe::trainer)
    set(${result} "recordpipe::trainer")
  else()
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
      set(${result} "nvcc that works")
    else()
      set(CMAKE_CUDA_ARCHITECTURES ${RECORDPIPE_CUDA_ARCHITECTURES})
      enable_language(CUDA)
      find_package(CUDAToolkit QUIET)
      find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
      find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR})
      if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
        set(${result} "nvcc 12 or later")
      elseif(NOT CUDNN_INCLUDE_DIR OR NOT CUDNN_LIBRARY)
        set(${result} "cuDNN (tools/fetch_cudnn.sh fetches it)")
      elseif(NOT TARGET CUDA::cublasLt)
        set(${result} "cuBLASLt")
      else()
        file(STRINGS ${CUDNN_INCLUDE_DIR}/cudnn_version.h recordpipe_cudnn_major
             REGEX "#define CUDNN_MAJOR 9")
        if(NOT recordpipe_cudnn_major)
          set(${result} "cuDNN 9")
        endif()
      endif()
    endif()
  endif()
endmacro()

# Compiles and links in CUDA's way; a macro, since languages are enabled at the top.
macro(recordpipe_add_trainer_cuda)
  if(RECORDPIPE_CUDA AND RECORDPIPE_SANITIZE)
    message(STATUS "Left out: recordpipe::trainer_cuda, for the sanitizers don't know CUDA")
  elseif(RECORDPIPE_CUDA)
    recordpipe_find_cuda(recordpipe_cuda_missing)
    if(recordpipe_cuda_missing AND RECORDPIPE_CUDA STREQUAL AUTO)
      message(STATUS "Left out: recordpipe::trainer_cuda, for there is no ${recordpipe_cuda_missing}")
    elseif(recordpipe_cuda_missing)
      message(FATAL_ERROR "RECORDPIPE_CUDA is ON, but there is no ${recordpipe_cuda_missing}")
    else()
      # Several GPUs: the header to compile with. The library is loaded by who needs it.
      find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
      if(NCCL_INCLUDE_DIR)
        set(recordpipe_exchange trainer/backend/cuda/nccl_exchange.cc)
      else()
        set(recordpipe_exchange trainer/backend/cuda/no_nccl_exchange.cc)
        message(STATUS "Left out: NCCL, for there is no nccl.h")
      endif()
      recordpipe_library(trainer_cuda
        SOURCES
          ${recordpipe_cuda_common}
          ${recordpipe_cuda_kernels}
          trainer/backend/cuda/convolution_cudnn.cc
          trainer/backend/cuda/device_cudart.cc
          trainer/backend/cuda/matmul_cublaslt.cc
          ${recordpipe_exchange}
        LINK recordpipe::trainer
        LINK_PRIVATE CUDA::cublasLt CUDA::cudart_static ${CUDNN_LIBRARY} ${CMAKE_DL_LIBS})
      if(NCCL_INCLUDE_DIR)
        target_include_directories(recordpipe_trainer_cuda SYSTEM PRIVATE ${NCCL_INCLUDE_DIR})
      endif()
      target_include_directories(recordpipe_trainer_cuda SYSTEM PRIVATE
                                 ${CUDNN_INCLUDE_DIR} ${CUDAToolkit_INCLUDE_DIRS})
      # By its name: CMake 3.25 doesn't know that nvcc 13 has it.
      target_compile_options(recordpipe_trainer_cuda PRIVATE
                             $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
      # They must round as dataset/image does: no fused multiplication and addition.
      set_source_files_properties(trainer/backend/cuda/distortion_kernels.cu
                                  trainer/backend/cuda/input_kernels.cu PROPERTIES
                                  COMPILE_OPTIONS -fmad=false)
      if(RECORDPIPE_WARNINGS)
        target_compile_options(recordpipe_trainer_cuda PRIVATE
          "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler -Wall,-Wextra>")
      endif()
      target_compile_definitions(recordpipe_trainer_cuda INTERFACE RECORDPIPE_CUDA)
      message(STATUS "The CUDA backend: nvcc ${CMAKE_CUDA_COMPILER_VERSION}, ${CUDNN_LIBRARY}, "
                     "for ${RECORDPIPE_CUDA_ARCHITECTURES}")
    endif()
  endif()
endmacro()

# The target recordpipe::cuda_emulation: CudaBackend without CUDA, for tests.
function(recordpipe_emulate_cuda)
  foreach(kernels IN LISTS recordpipe_cuda_kernels)
    get_filename_component(name ${kernels} NAME_WE)
    set(source ${PROJECT_BINARY_DIR}/cuda_emulation/${name}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${kernels}\"\n")
    list(APPEND sources ${source})
  endforeach()
  # They must round as dataset/image does: no fused multiplication and addition.
  set_source_files_properties(${PROJECT_BINARY_DIR}/cuda_emulation/distortion_kernels.cc
                              ${PROJECT_BINARY_DIR}/cuda_emulation/input_kernels.cc
                              PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
  recordpipe_library(cuda_emulation
    SOURCES
      ${recordpipe_cuda_common}
      ${sources}
      tests/trainer/cuda_emulation/convolution.cc
      tests/trainer/cuda_emulation/device.cc
      tests/trainer/cuda_emulation/matmul.cc
      trainer/backend/cuda/no_nccl_exchange.cc
    LINK recordpipe::trainer)
endfunction()
