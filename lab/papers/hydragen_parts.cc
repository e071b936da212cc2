#include <algorithm>

#include "api/model_access.h"
#include "bench/cpu/kernel_rates.h"
#include "engine/output_reader.h"
#include "exec/cpu/cpu_device.h"
#include "lab/papers/hydragen.h"

namespace pando::lab {

double attention_operations(const model::ModelSpec& config, int prefix, int batch) {
  return 4.0 * config.n_layers() * batch * config.q_dim() * prefix;
}

StepParts step_parts(const model::ModelSpec& config, int prefix, int batch, int kv_element_bytes,
                     double products_s, const MachineRates& rates) {
  const double operations = attention_operations(config, prefix, batch);
  const double bytes =
      2.0 * config.n_layers() * batch * config.kv_dim() * prefix * kv_element_bytes;
  return {products_s, operations / rates.shared_attention, bytes / rates.own_reads};
}

double product_seconds(const Harness& harness, const Model& model, int batch) {
  const auto& weights = dynamic_cast<const exec::CpuModel&>(*weights_of(model)).weights();
  const auto seconds = [&](const kernel::PackedMatrix& w, int m) {
    return 2.0 * m * w.n() * w.k() / product_rate(harness, w.type(), m, w.n(), w.k());
  };
  const exec::LayerWeights& layer = weights.layers[0];
  double of_layer = seconds(layer.o, batch) + seconds(layer.down, batch);
  for (const kernel::PackedMatrix& w : layer.qkv) of_layer += seconds(w, batch);
  for (const kernel::PackedMatrix& w : layer.gate_up) of_layer += seconds(w, batch);
  const int m = std::min(batch, static_cast<int>(kLogitRows));
  return of_layer * weights.spec.n_layers() + seconds(weights.head, m) * batch / m;
}

}  // namespace pando::lab
