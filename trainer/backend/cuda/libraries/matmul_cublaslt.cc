// Matrix products by cuBLASLt. It expects column-major matrices, so a row-major matrix is passed as
// its transpose: cᵀ = bᵀ · aᵀ, with b first.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/backend/cuda/device/device_handles.h"
#include "trainer/backend/cuda/libraries/matmul.h"
#include "trainer/backend/cuda/libraries/matmul_offers.h"

namespace recordpipe::cuda {
namespace {

constexpr int max_algorithms = 8;

cudaDataType_t cublas_type(Element element) {
  switch (element) {
    case Element::float32:
      return CUDA_R_32F;
    case Element::bfloat16:
      return CUDA_R_16BF;
    case Element::float16:
      return CUDA_R_16F;
  }
  return CUDA_R_32F;
}

// The layout of a row-major [rows][columns] matrix.
cublasLtMatrixLayout_t make_layout(Element element, uint64_t rows, uint64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, cublas_type(element), columns, rows,
                                   static_cast<int64_t>(columns)),
        "describing a matrix");
  return layout;
}

}  // namespace

struct Matmul::Plan {
  const Device& device;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};

  explicit Plan(const Device& own) : device(own) {}
  ~Plan() {
    if (c) cublasLtMatrixLayoutDestroy(c);
    if (b) cublasLtMatrixLayoutDestroy(b);
    if (a) cublasLtMatrixLayoutDestroy(a);
    if (product) cublasLtMatmulDescDestroy(product);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void transpose(cublasLtMatmulDescAttributes_t which, bool transposed) const {
    const cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(product, which, &operation, sizeof(operation)),
          "describing a matrix product");
  }

  // Selects one of the algorithms that cuBLASLt lists, the fastest first.
  void choose(const MatmulShape& shape) {
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference), "choosing a matrix product");
    const size_t workspace = device.workspace_bytes();
    // A sum in place would be in 16 bits, and is not documented to have a fixed order.
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK & ~CUBLASLT_REDUCTION_SCHEME_INPLACE;
    std::array<cublasLtMatmulHeuristicResult_t, max_algorithms> found = {};
    int count = 0;
    cublasStatus_t status = cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof(workspace));
    if (status == CUBLAS_STATUS_SUCCESS)
      status = cublasLtMatmulPreferenceSetAttribute(
          preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof(reductions));
    if (status == CUBLAS_STATUS_SUCCESS)
      status = cublasLtMatmulAlgoGetHeuristic(device.handles().cublas_lt, product, b, a, c, c,
                                              preference, max_algorithms, found.data(), &count);
    cublasLtMatmulPreferenceDestroy(preference);
    // NOT_SUPPORTED: none is listed.
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(status, "choosing a matrix product");

    const std::vector<AlgorithmOffer> offers =
        offers_of(std::span(found).first(static_cast<size_t>(count)));
    const size_t chosen = choose_algorithm(
        "a product of [" + std::to_string(shape.rows) + "][" + std::to_string(shape.depth) +
            "] and [" + std::to_string(shape.depth) + "][" + std::to_string(shape.columns) + "]",
        offers, {.workspace_bytes = workspace}, /*measure=*/false,
        [](size_t) { return AlgorithmTrial(); });
    algorithm = found[chosen].algo;
  }
};

Matmul::Matmul(const Device& device, const MatmulShape& shape)
    : plan_(std::make_unique<Plan>(device)) {
  check(cublasLtMatmulDescCreate(&plan_->product,
                                 shape.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                 CUDA_R_32F),
        "describing a matrix product");
  plan_->transpose(CUBLASLT_MATMUL_DESC_TRANSA, shape.transposed_b);
  plan_->transpose(CUBLASLT_MATMUL_DESC_TRANSB, shape.transposed_a);
  plan_->a = shape.transposed_a ? make_layout(shape.element, shape.depth, shape.rows)
                                : make_layout(shape.element, shape.rows, shape.depth);
  plan_->b = shape.transposed_b ? make_layout(shape.element, shape.columns, shape.depth)
                                : make_layout(shape.element, shape.depth, shape.columns);
  plan_->c = make_layout(shape.element, shape.rows, shape.columns);

  plan_->choose(shape);
}

Matmul::~Matmul() = default;

void Matmul::run(const void* a, const void* b, void* c, bool accumulate) const {
  const float alpha = 1, beta = accumulate ? 1 : 0;
  const Device& device = plan_->device;
  check(cublasLtMatmul(device.handles().cublas_lt, plan_->product, &alpha, b, plan_->b, a, plan_->a,
                       &beta, c, plan_->c, c, plan_->c, &plan_->algorithm, device.workspace(),
                       device.workspace_bytes(), device.compute()),
        "a matrix product");
}

}  // namespace recordpipe::cuda
