// One set of names for oneDNN 2 and 3: version 3 dropped the operation descriptors from which
// version 2 makes primitive descriptors. No other file here includes oneDNN's headers.
#pragma once

#include <cstddef>

#include <oneapi/dnnl/dnnl.hpp>

namespace recordpipe::onednn {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

inline Desc make_desc(const Dims& dims, Tag tag) {
  return Desc(dims, dnnl::memory::data_type::f32, tag);
}

// The parameters of a convolution and of its two gradients.
struct Convolution {
  Desc input, weights, output;
  Desc bias = {};         // empty: no bias
  Dims strides, padding;  // the same padding before and after
  dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct;
};

using ConvolutionForward = dnnl::convolution_forward::primitive_desc;
using ConvolutionBackwardData = dnnl::convolution_backward_data::primitive_desc;
using ConvolutionBackwardWeights = dnnl::convolution_backward_weights::primitive_desc;
using InnerProductForward = dnnl::inner_product_forward::primitive_desc;
using InnerProductBackwardData = dnnl::inner_product_backward_data::primitive_desc;
using InnerProductBackwardWeights = dnnl::inner_product_backward_weights::primitive_desc;

using EltwiseForward = dnnl::eltwise_forward::primitive_desc;
using EltwiseBackward = dnnl::eltwise_backward::primitive_desc;

#if DNNL_VERSION_MAJOR >= 3

inline ConvolutionForward convolution_forward(const dnnl::engine& engine, dnnl::prop_kind kind,
                                              const Convolution& c) {
  return {engine, kind,     c.algorithm, c.input,   c.weights,
          c.bias, c.output, c.strides,   c.padding, c.padding};
}

inline ConvolutionBackwardData convolution_backward_data(const dnnl::engine& engine,
                                                         const Convolution& c,
                                                         const ConvolutionForward& forward) {
  return {engine,    c.algorithm, c.input,   c.weights, c.output,
          c.strides, c.padding,   c.padding, forward};
}

inline ConvolutionBackwardWeights convolution_backward_weights(const dnnl::engine& engine,
                                                               const Convolution& c,
                                                               const ConvolutionForward& forward) {
  return {engine,   c.algorithm, c.input,   c.weights, c.bias,
          c.output, c.strides,   c.padding, c.padding, forward};
}

inline InnerProductForward inner_product_forward(const dnnl::engine& engine, dnnl::prop_kind kind,
                                                 const Desc& input, const Desc& weights,
                                                 const Desc& bias, const Desc& output) {
  return {engine, kind, input, weights, bias, output};
}

inline InnerProductBackwardData inner_product_backward_data(const dnnl::engine& engine,
                                                            const Desc& input, const Desc& weights,
                                                            const Desc& output,
                                                            const InnerProductForward& forward) {
  return {engine, input, weights, output, forward};
}

inline InnerProductBackwardWeights inner_product_backward_weights(
    const dnnl::engine& engine, const Desc& input, const Desc& weights, const Desc& bias,
    const Desc& output, const InnerProductForward& forward) {
  return {engine, input, weights, bias, output, forward};
}

inline EltwiseForward eltwise_forward(const dnnl::engine& engine, dnnl::prop_kind kind,
                                      dnnl::algorithm algorithm, const Desc& tensor, float alpha) {
  return {engine, kind, algorithm, tensor, tensor, alpha, 0.0f};
}

inline EltwiseBackward eltwise_backward(const dnnl::engine& engine, dnnl::algorithm algorithm,
                                        const Desc& tensor, float alpha,
                                        const EltwiseForward& forward) {
  return {engine, algorithm, tensor, tensor, tensor, alpha, 0.0f, forward};
}

#else

inline ConvolutionForward convolution_forward(const dnnl::engine& engine, dnnl::prop_kind kind,
                                              const Convolution& c) {
  return {
      {kind, c.algorithm, c.input, c.weights, c.bias, c.output, c.strides, c.padding, c.padding},
      engine};
}

inline ConvolutionBackwardData convolution_backward_data(const dnnl::engine& engine,
                                                         const Convolution& c,
                                                         const ConvolutionForward& forward) {
  return {{c.algorithm, c.input, c.weights, c.output, c.strides, c.padding, c.padding},
          engine,
          forward};
}

inline ConvolutionBackwardWeights convolution_backward_weights(const dnnl::engine& engine,
                                                               const Convolution& c,
                                                               const ConvolutionForward& forward) {
  return {{c.algorithm, c.input, c.weights, c.bias, c.output, c.strides, c.padding, c.padding},
          engine,
          forward};
}

inline InnerProductForward inner_product_forward(const dnnl::engine& engine, dnnl::prop_kind kind,
                                                 const Desc& input, const Desc& weights,
                                                 const Desc& bias, const Desc& output) {
  return {{kind, input, weights, bias, output}, engine};
}

inline InnerProductBackwardData inner_product_backward_data(const dnnl::engine& engine,
                                                            const Desc& input, const Desc& weights,
                                                            const Desc& output,
                                                            const InnerProductForward& forward) {
  return {{input, weights, output}, engine, forward};
}

inline InnerProductBackwardWeights inner_product_backward_weights(
    const dnnl::engine& engine, const Desc& input, const Desc& weights, const Desc& bias,
    const Desc& output, const InnerProductForward& forward) {
  return {{input, weights, bias, output}, engine, forward};
}

inline EltwiseForward eltwise_forward(const dnnl::engine& engine, dnnl::prop_kind kind,
                                      dnnl::algorithm algorithm, const Desc& tensor, float alpha) {
  return {{kind, algorithm, tensor, alpha, 0.0f}, engine};
}

inline EltwiseBackward eltwise_backward(const dnnl::engine& engine, dnnl::algorithm algorithm,
                                        const Desc& tensor, float alpha,
                                        const EltwiseForward& forward) {
  return {{algorithm, tensor, tensor, alpha, 0.0f}, engine, forward};
}

#endif

}  // namespace recordpipe::onednn
