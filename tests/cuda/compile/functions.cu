// Every function that ashlar/cuda.hpp declares, instantiated from ashlar/cuda.cuh.
#include <ashlar/attention/mask/causal.hpp>
#include <ashlar/cuda.cuh>

using namespace ashlar;
using Gpu = Context<backend::CudaGpu>;
using O = AttentionOptions<CausalMask>;
template void ashlar::attention_decode(Gpu&, TensorView<const half, 4>, TensorView<const half, 4>,
                                       TensorView<const half, 4>, TensorView<half, 4>, const O&);
template void ashlar::cuda::attention_decode_paged(Gpu&, TensorView<const half, 4>,
                                                   const cuda::KeyPages<half>&, TensorView<half, 4>,
                                                   const O&);
template void ashlar::cuda::attention_paged(Gpu&, TensorView<const float, 4>,
                                            const cuda::KeyPages<float>&, TensorView<float, 4>,
                                            const O&);
template void ashlar::cuda::attention_packed(Gpu&, TensorView<const float, 3>,
                                             TensorView<const float, 3>, TensorView<const float, 3>,
                                             TensorView<float, 3>, VectorView<const std::int32_t>,
                                             VectorView<const std::int32_t>, index_t, const O&);
template void ashlar::cuda::attention_sm90(Gpu&, TensorView<const bfloat16, 4>,
                                           TensorView<const bfloat16, 4>,
                                           TensorView<const bfloat16, 4>, TensorView<bfloat16, 4>,
                                           const O&);
