# The sources without CUDA code: tests also compile them for the CPU. Relative to this folder.
set(recordpipe_cuda_common
  batch_norm_layer.cc
  bias_relu_part.cc
  conv2d_layer.cc
  cuda_backend.cc
  cuda_runner.cc
  cuda_variables.cc
  dense_layer.cc
  gradient_processor.cc
  host_exchange.cc
  kernel_layers.cc
  layer.cc
  multi_gpu_backend.cc
  multi_gpu_variables.cc
  upload.cc
  variable_layout.cc)
# The kernels: nvcc compiles them as kernels, other compilers as loops (launch.h).
set(recordpipe_cuda_kernels
  batch_norm_kernels.cu
  bias_relu_kernels.cu
  distortion_kernels.cu
  gradient_kernels.cu
  input_kernels.cu
  local_response_norm_kernels.cu
  loss_kernels.cu
  pooling_kernels.cu
  update_kernels.cu)
