// Loads the weights of the reference forward pass, all of them widened to f32.
#include <cstring>

#include "model/family.h"
#include "reference/reference_blocks.h"
#include "reference/reference_forward.h"
#include "reference/reference_loader.h"

namespace pando::reference {
namespace {

Recurrent load_recurrent(const model::ModelConfig& c, model::Mixer mixer, const Names& name,
                         Loader& load) {
  const model::RecurrentConfig& r = c.recurrent;
  const int d = c.d_model, values = r.value_width(), channels = c.conv_channels(mixer);
  const auto conv = [&](const char* part) {
    return load.vector(name(part), {channels, 1, r.conv_taps});
  };
  Recurrent layer;
  if (mixer == model::Mixer::kShortConv) {
    layer.in = {load.matrix(name("conv.in_proj.weight"), 3 * d, d)};
    layer.conv = conv("conv.conv.weight");
    layer.out = load.matrix(name("conv.out_proj.weight"), d, d);
  } else if (mixer == model::Mixer::kMamba2) {
    const auto part = [&](const char* of_mixer) {
      return (name.has("mixer.in_proj.weight") ? "mixer" : "mamba") + std::string(of_mixer);
    };
    layer.in = {
        load.matrix(name(part(".in_proj.weight").c_str()), values + channels + r.n_heads, d)};
    layer.conv = conv(part(".conv1d.weight").c_str());
    layer.conv_bias = load.vector_if(r.conv_bias, name(part(".conv1d.bias").c_str()), channels);
    layer.decay = load.vector(name(part(".A_log").c_str()), {r.n_heads});
    layer.dt_bias = load.vector(name(part(".dt_bias").c_str()), {r.n_heads});
    layer.skip = load.vector(name(part(".D").c_str()), {r.n_heads});
    layer.norm = load.vector(name(part(".norm.weight").c_str()), {values});
    layer.out = load.matrix(name(part(".out_proj.weight").c_str()), d, values);
  } else if (name.has("linear_attn.g_proj.weight")) {  // OLMo Hybrid
    const int keys = r.key_width();
    const std::pair<const char*, int> tensors[] = {{"q_proj", keys},      {"k_proj", keys},
                                                   {"v_proj", values},    {"g_proj", values},
                                                   {"b_proj", r.n_heads}, {"a_proj", r.n_heads}};
    for (const auto& [part, n] : tensors)
      layer.in.push_back(
          load.matrix(name((std::string("linear_attn.") + part + ".weight").c_str()), n, d));
    // Published files have those of queries, keys and values, files of the library have thirds.
    const int third = (channels + 2) / 3;
    const bool thirds =
        load.has_shape(name("linear_attn.q_conv1d.weight"), {third, 1, r.conv_taps});
    const int first = thirds ? third : keys;
    for (const auto& [part, n] :
         {std::pair{"q", first}, {"k", first}, {"v", channels - 2 * first}}) {
      const std::string own = std::string("linear_attn.") + part + "_conv1d.weight";
      const std::vector<float> rows = load.vector(name(own.c_str()), {n, 1, r.conv_taps});
      layer.conv.insert(layer.conv.end(), rows.begin(), rows.end());
    }
    layer.decay = load.vector(name("linear_attn.A_log"), {r.n_heads});
    layer.dt_bias = load.vector(name("linear_attn.dt_bias"), {r.n_heads});
    layer.norm = load.vector(name("linear_attn.o_norm.weight"), {r.value_dim});
    layer.out = load.matrix(name("linear_attn.o_proj.weight"), d, values);
  } else {
    // Names of single tensors, of Qwen3-Next's fused tensors, and of their parts in GGUF files.
    const std::pair<const char*, int> tensors[] = {
        {"linear_attn.in_proj_qkv.weight", channels},
        {"linear_attn.in_proj_qkvz.weight", channels + values},
        {"linear_attn.in_proj_qkvz.weight[0]", channels},
        {"linear_attn.in_proj_qkvz.weight[1]", values},
        {"linear_attn.in_proj_z.weight", values},
        {"linear_attn.in_proj_b.weight", r.n_heads},
        {"linear_attn.in_proj_a.weight", r.n_heads},
        {"linear_attn.in_proj_ba.weight", 2 * r.n_heads}};
    for (const auto& [part, n] : tensors)
      if (name.has(part)) layer.in.push_back(load.matrix(name(part), n, d));
    layer.conv = conv("linear_attn.conv1d.weight");
    layer.decay = load.vector(name("linear_attn.A_log"), {r.n_heads});
    layer.dt_bias = load.vector(name("linear_attn.dt_bias"), {r.n_heads});
    layer.norm = load.vector(name("linear_attn.norm.weight"), {r.value_dim});
    layer.out = load.matrix(name("linear_attn.out_proj.weight"), d, values);
  }
  return layer;
}

void load_attention(const model::ModelConfig& c, const Names& name, Loader& load, Layer& layer) {
  const model::Heads heads = c.heads(name.layer);
  const model::LayerConfig& kind = c.layers[name.layer];
  const bool has_keys = kind.keys_back == 0, has_values = has_keys && !kind.values_are_keys;
  const int q = heads.q_dim(), kv = heads.kv_dim(), d = c.d_model;
  const int queries = c.attention_gate ? 2 * q : q, qkv = queries + 2 * kv;
  const std::string fused_name = name.any(
      {"self_attn.qkv_proj.weight", "attention.query_key_value.weight", "attn.Wqkv.weight"});
  const bool fused = name.checkpoint.contains(fused_name);
  // Rows [first, first + n) of the fused projection, which are rows from `own` on of one alone.
  using Parts = std::initializer_list<const char*>;
  const auto part = [&](Parts own, int own_first, int n_own, int n, int first) {
    return fused ? load.matrix(fused_name, n, d, first, qkv)
                 : load.matrix(name.any(own), n, d, own_first, n_own);
  };
  layer.q = part({"self_attn.q_proj.weight", "mixer.q_proj.weight", "attention.self.query.weight",
                  "attention.q_lin.weight"},
                 0, queries, q, 0);
  if (c.attention_gate)
    layer.query_gates = part({"self_attn.q_proj.weight", "mixer.q_proj.weight"}, q, queries, q, q);
  if (has_keys)
    layer.k = part({"self_attn.k_proj.weight", "mixer.k_proj.weight", "attention.self.key.weight",
                    "attention.k_lin.weight"},
                   0, kv, kv, queries);
  if (has_values)
    layer.v = part({"self_attn.v_proj.weight", "mixer.v_proj.weight", "attention.self.value.weight",
                    "attention.v_lin.weight"},
                   0, kv, kv, queries + kv);
  layer.o = load.matrix(
      name.any({"self_attn.o_proj.weight", "self_attn.out_proj.weight", "mixer.o_proj.weight",
                "self_attn.dense.weight", "attention.dense.weight", "attention.output.dense.weight",
                "attention.out_lin.weight", "attn.Wo.weight", "attn.out_proj.weight"}),
      d, q);
  layer.sinks = load.vector_if(c.attention_sinks, name("self_attn.sinks"), c.n_heads);
  const bool norms = c.qk_norm != model::QkNorm::kNone;
  layer.q_norm = load.vector_if(norms,
                                name.any({"self_attn.q_norm.weight", "self_attn.q_layernorm.weight",
                                          "self_attn.query_layernorm.weight"}),
                                c.q_norm_dim(heads));
  layer.k_norm = load.vector_if(norms && has_keys,
                                name.any({"self_attn.k_norm.weight", "self_attn.k_layernorm.weight",
                                          "self_attn.key_layernorm.weight"}),
                                c.k_norm_dim(heads));
  layer.o_bias = load.vector_if(
      c.o_bias,
      name.any({"self_attn.o_proj.bias", "self_attn.dense.bias", "attention.dense.bias",
                "attention.output.dense.bias", "attention.out_lin.bias"}),
      d);
  if (c.qkv_bias && fused) {
    const std::vector<float> all = load.vector(name("attention.query_key_value.bias"), {qkv});
    layer.q_bias.assign(all.begin(), all.begin() + q);
    layer.k_bias.assign(all.begin() + q, all.begin() + q + kv);
    layer.v_bias.assign(all.begin() + q + kv, all.end());
    return;
  }
  const auto bias = [&](bool exists, std::initializer_list<const char*> names, int n) {
    return load.vector_if(c.qkv_bias && exists, name.any(names), n);
  };
  layer.q_bias =
      bias(true, {"self_attn.q_proj.bias", "attention.self.query.bias", "attention.q_lin.bias"},
           queries);
  if (c.qkv_bias) {
    layer.gate_bias.assign(layer.q_bias.begin() + q, layer.q_bias.end());
    layer.q_bias.resize(q);
  }
  layer.k_bias = bias(
      has_keys, {"self_attn.k_proj.bias", "attention.self.key.bias", "attention.k_lin.bias"}, kv);
  layer.v_bias =
      bias(has_values,
           {"self_attn.v_proj.bias", "attention.self.value.bias", "attention.v_lin.bias"}, kv);
}

Latent load_latent(const model::ModelConfig& c, const Names& name, Loader& load) {
  const model::LatentConfig& l = c.latent;
  const int d = c.d_model, queries = c.n_heads * (l.still_dim + l.rope_dim);
  Latent layer;
  if (l.query_rank > 0) {
    layer.q = load.matrix(name("self_attn.q_a_proj.weight"), l.query_rank, d);
    layer.q_norm = load.vector(name("self_attn.q_a_layernorm.weight"), {l.query_rank});
    layer.q_up = load.matrix(name("self_attn.q_b_proj.weight"), queries, l.query_rank);
  } else {
    layer.q = load.matrix(name("self_attn.q_proj.weight"), queries, d);
  }
  layer.kv = load.matrix(name("self_attn.kv_a_proj_with_mqa.weight"), l.rank + l.rope_dim, d);
  layer.kv_norm = load.vector(name("self_attn.kv_a_layernorm.weight"), {l.rank});
  // A GGUF file may have both parts by themselves, and that of keys turned.
  const char *whole = "self_attn.kv_b_proj.weight", *keys = "self_attn.kv_b_proj.weight[0]";
  const char* values = "self_attn.kv_b_proj.weight[1]";
  const int up = l.still_dim + l.value_dim;
  for (int head = 0; head < c.n_heads; ++head) {
    if (name.has(whole)) {
      layer.key_up.push_back(
          load.turned(name(whole), l.still_dim, l.rank, head * up, c.n_heads * up));
      layer.value_up.push_back(
          load.matrix(name(whole), l.value_dim, l.rank, head * up + l.still_dim, c.n_heads * up));
    } else {
      layer.key_up.push_back(
          load.matrix(name(keys), l.rank, l.still_dim, head * l.rank, c.n_heads * l.rank));
      layer.value_up.push_back(load.matrix(name(values), l.value_dim, l.rank, head * l.value_dim,
                                           c.n_heads * l.value_dim));
    }
  }
  return layer;
}

// The feed-forward of a dense layer, or the shared expert, d_ff wide.
void load_feed_forward(const model::ModelConfig& c, int d_ff, const Names& name, Loader& load,
                       Gated& layer) {
  const int d = c.d_model;
  // A GGUF file divides Granite's fused projection.
  const std::string fused =
      name.any({"mlp.gate_up_proj.weight", "shared_mlp.input_linear.weight", "mlp.Wi.weight"});
  if (name.checkpoint.contains(fused)) {
    layer.gate = load.matrix(fused, d_ff, d, 0, 2 * d_ff);
    layer.up = load.matrix(fused, d_ff, d, d_ff, 2 * d_ff);
  } else {
    if (c.n_inner() == 2)
      layer.gate = load.matrix(
          name.any({"mlp.gate_proj.weight", "feed_forward.w1.weight",
                    "mlp.shared_expert.gate_proj.weight", "mlp.shared_experts.gate_proj.weight",
                    "mlp.shared_mlp.gate_proj.weight", "shared_mlp.input_linear.weight[0]",
                    "mlp.fc12.weight"}),
          d_ff, d);
    layer.up = load.matrix(
        name.any({"mlp.up_proj.weight", "feed_forward.w3.weight",
                  "mlp.shared_expert.up_proj.weight", "mlp.shared_experts.up_proj.weight",
                  "mlp.shared_mlp.up_proj.weight", "shared_mlp.input_linear.weight[1]",
                  "mixer.up_proj.weight", "mixer.shared_experts.up_proj.weight", "mlp.c_fc.weight",
                  "mlp.fc1.weight", "mlp.dense_h_to_4h.weight", "intermediate.dense.weight",
                  "ffn.lin1.weight", "mlp.fc11.weight"}),
        d_ff, d);
  }
  layer.down = load.matrix(
      name.any({"mlp.down_proj.weight", "feed_forward.w2.weight",
                "mlp.shared_expert.down_proj.weight", "mlp.shared_experts.down_proj.weight",
                "mlp.shared_mlp.down_proj.weight", "shared_mlp.output_linear.weight",
                "mixer.down_proj.weight", "mixer.shared_experts.down_proj.weight",
                "mlp.c_proj.weight", "mlp.fc2.weight", "mlp.dense_4h_to_h.weight",
                "output.dense.weight", "ffn.lin2.weight", "mlp.Wo.weight"}),
      d, d_ff);
  const auto bias = [&](std::initializer_list<const char*> names, int n) {
    return load.vector_if(c.feed_forward_bias, name.any(names), n);
  };
  layer.up_bias = bias({"mlp.c_fc.bias", "mlp.fc1.bias", "mlp.dense_h_to_4h.bias",
                        "intermediate.dense.bias", "ffn.lin1.bias"},
                       d_ff);
  layer.down_bias = bias({"mlp.c_proj.bias", "mlp.fc2.bias", "mlp.dense_4h_to_h.bias",
                          "output.dense.bias", "ffn.lin2.bias"},
                         d);
}

void load_experts(const model::ModelConfig& c, const Names& name, Loader& load, Experts& layer) {
  const model::ExpertsConfig& e = c.experts;
  const int d = c.d_model, ff = e.d_ff;
  layer.router = Matrix(
      load.vector(name.any({"mlp.gate.weight", "mlp.gate.wg.weight", "block_sparse_moe.gate.weight",
                            "block_sparse_moe.router.layer.weight", "mlp.router.weight",
                            "feed_forward.gate.weight", "router.proj.weight", "mixer.gate.weight"}),
                  {e.n_experts, d}),
      e.n_experts, d, {});
  layer.router_bias = load.vector_if(e.router_bias, name("mlp.router.bias"), e.n_experts);
  if (e.shared_gate) layer.shared_gate = load.vector(name("mlp.shared_expert_gate.weight"), {1, d});
  layer.choice_bias = load.vector_if(
      e.choice_bias,
      name.any({"mlp.gate.e_score_correction_bias", "mlp.moe_statics.e_score_correction_bias",
                "feed_forward.expert_bias", "mixer.gate.e_score_correction_bias",
                "block_sparse_moe.e_score_correction_bias"}),
      e.n_experts);
  if (name.has("router.scale")) {  // Gemma 4
    layer.router_norm = load.vector(name("router.scale"), {d});
    layer.weight_of = load.vector(name("router.per_expert_scale"), {e.n_experts});
    layer.norm = load.vector(name("pre_feedforward_layernorm_2.weight"), {d});
    layer.sum_norm = load.vector(name("post_feedforward_layernorm_2.weight"), {d});
    layer.shared_sum_norm = load.vector(name("post_feedforward_layernorm_1.weight"), {d});
  }
  layer.all.resize(e.n_experts);
  for (const model::WeightSpec& spec : c.family->layer_weights(c, name.layer))
    for (int i = 0; i < e.n_experts; ++i) {
      Gated& expert = layer.all[i];
      if (spec.role == model::Role::kExpertGateUp) {
        const bool has_gate = c.n_inner() == 2;
        if (has_gate) expert.gate = load.expert_matrix(spec, i, 0, ff, d);
        expert.up = load.expert_matrix(spec, i, has_gate ? ff : 0, ff, d);
      } else if (spec.role == model::Role::kExpertGateUpBias) {
        expert.gate_bias = load.expert_vector(spec, i, 0, ff);
        expert.up_bias = load.expert_vector(spec, i, ff, ff);
      } else if (spec.role == model::Role::kExpertDown) {
        expert.down = load.expert_matrix(spec, i, 0, d, ff);
      } else if (spec.role == model::Role::kExpertDownBias) {
        expert.down_bias = load.expert_vector(spec, i, 0, d);
      }
    }
}

void load_layer_inputs(const model::ModelConfig& c, const Names& name, Loader& load, Layer& layer) {
  const int d = c.d_model, dim = c.layer_input_dim;
  if (name.has("layer_scalar")) layer.scale = load.vector(name("layer_scalar"), {1});
  if (dim == 0) return;
  layer.input_gate = load.matrix(name("per_layer_input_gate.weight"), dim, d);
  layer.input_projection = load.matrix(name("per_layer_projection.weight"), d, dim);
  layer.input_sum_norm = load.vector(name("post_per_layer_input_norm.weight"), {d});
}

// Norms have names of their places in Llama's layer; other families have others too.
void load_norms(int d, const Names& name, Loader& load, Layer& layer) {
  const auto norm = [&](std::initializer_list<const char*> names) {
    const std::string found = name.any(names);
    std::vector<float> all = load.vector_if(name.checkpoint.contains(found), found, d);
    const std::string bias = found.substr(0, found.rfind('.')) + ".bias";
    const std::vector<float> behind = load.vector_if(name.checkpoint.contains(bias), bias, d);
    all.insert(all.end(), behind.begin(), behind.end());
    return all;
  };
  if (name.has("mlp_norm.weight")) {  // ModernBERT
    layer.attention_norm = norm({"attn_norm.weight"});
    layer.feed_forward_norm = norm({"mlp_norm.weight"});
    return;
  }
  for (const char* sum : {"attention.output.LayerNorm.weight", "sa_layer_norm.weight",
                          "norm1.weight"})  // BERT and those like it
    if (name.has(sum)) {
      layer.attention_sum_norm = norm({sum});
      layer.feed_forward_sum_norm =
          norm({"output.LayerNorm.weight", "output_layer_norm.weight", "norm2.weight"});
      return;
    }
  const char* behind = "post_attention_layernorm.weight";
  const char* last = "post_feedforward_layernorm.weight";
  const char* other = "feedforward_layer_norm.weight";  // OLMo Hybrid
  if (name.has("norm.weight")) {                        // Nemotron-H: the one norm of a layer
    layer.attention_norm = layer.feed_forward_norm = norm({"norm.weight"});
    return;
  }
  layer.attention_norm =
      norm({"input_layernorm.weight", "operator_norm.weight", "attention_layer_norm.weight"});
  if (name.has("post_self_attn_layernorm.weight")) {  // GLM-4
    layer.attention_sum_norm = norm({"post_self_attn_layernorm.weight"});
    layer.feed_forward_norm = norm({behind});
    layer.feed_forward_sum_norm = norm({"post_mlp_layernorm.weight"});
  } else if (name.has("pre_feedforward_layernorm.weight")) {  // Gemma
    layer.attention_sum_norm = norm({behind});
    layer.feed_forward_norm = norm({"pre_feedforward_layernorm.weight"});
    layer.feed_forward_sum_norm = norm({last});
  } else if (layer.attention_norm.empty()) {  // OLMo 2 and 3, attention of OLMo Hybrid
    layer.attention_sum_norm = norm({behind, other});
    layer.feed_forward_sum_norm = norm({last});
  } else {
    layer.feed_forward_norm = norm({behind, "ffn_norm.weight", other});
  }
}

// Tables that are added to embeddings, and the norm of the sums.
void load_beside_embedding(const model::ModelConfig& c, const model::Checkpoint& checkpoint,
                           Loader& load, std::vector<float>& positions, std::vector<float>& types,
                           std::vector<float>& norm) {
  if (c.n_learned_positions > 0)
    positions = load.vector("model.embeddings.position_embeddings.weight",
                            {c.n_learned_positions, c.d_model});
  if (c.n_token_types > 0)
    types =
        load.vector("model.embeddings.token_type_embeddings.weight", {c.n_token_types, c.d_model});
  for (const char* name : {"model.embeddings.LayerNorm", "model.embeddings.norm", "model.emb_ln"}) {
    const std::string weight = std::string(name) + ".weight", bias = std::string(name) + ".bias";
    if (!c.embedding_norm || !checkpoint.contains(weight)) continue;
    norm = load.vector(weight, {c.d_model});
    const std::vector<float> behind = load.vector_if(c.norm_bias, bias, c.d_model);
    norm.insert(norm.end(), behind.begin(), behind.end());
  }
}

}  // namespace

Result<Model> Model::load(const model::ModelConfig& c, const model::Checkpoint& checkpoint,
                          const Options& options) {
  Model model;
  model.config_ = c;
  model.options_ = options;
  Loader load(c, checkpoint, options.weights);
  model.embedding_ = load.vector(c.family->embedding, {c.vocab, c.d_model});
  const int d = c.d_model;
  load_beside_embedding(c, checkpoint, load, model.position_table_, model.type_table_,
                        model.embedding_norm_);
  for (int i = 0; i < c.n_layers(); ++i) {
    const Names name{checkpoint, i};
    Layer& layer = model.layers_.emplace_back();
    load_norms(d, name, load, layer);
    const model::Mixer mixer = c.layers[i].mixer;
    if (c.has_latent()) {
      layer.latent = load_latent(c, name, load);
      layer.o = load.matrix(name("self_attn.o_proj.weight"), d, c.n_heads * c.latent.value_dim);
    } else if (mixer == model::Mixer::kAttention) {
      load_attention(c, name, load, layer);
    } else if (mixer != model::Mixer::kNone) {
      layer.recurrent = load_recurrent(c, mixer, name, load);
    }
    const model::FeedForward feed_forward = c.layers[i].feed_forward;
    const bool is_dense = feed_forward == model::FeedForward::kDense;
    if (feed_forward == model::FeedForward::kExperts) load_experts(c, name, load, layer.experts);
    if (const int d_ff = is_dense ? c.d_ff_of(i) : c.experts.shared_d_ff;
        d_ff > 0 && feed_forward != model::FeedForward::kNone)
      load_feed_forward(c, d_ff, name, load, layer.feed_forward);
    load_layer_inputs(c, name, load, layer);
  }
  if (const int dim = c.layer_input_dim; dim > 0) {
    const int n = c.n_layers() * dim;
    model.input_table_ =
        load.vector("model.embed_tokens_per_layer.weight", {c.layer_input_vocab, n});
    model.input_projection_ = load.matrix("model.per_layer_model_projection.weight", n, d);
    model.input_norm_ = load.vector("model.per_layer_projection_norm.weight", {dim});
  }
  const char* last_norm = "model.norm.weight";
  for (const char* other :
       {"model.embedding_norm.weight", "model.norm_f.weight", "model.final_layernorm.weight",
        "model.final_layer_norm.weight", "model.final_norm.weight"})
    if (checkpoint.contains(other)) last_norm = other;
  model.last_norm_ = load.vector_if(c.final_norm, last_norm, c.d_model);
  const std::string bias = std::string(last_norm, std::strlen(last_norm) - 6) + "bias";
  const std::vector<float> norm_bias = load.vector_if(c.norm_bias && c.final_norm, bias, c.d_model);
  model.last_norm_.insert(model.last_norm_.end(), norm_bias.begin(), norm_bias.end());
  if (c.both_ways)
    return load.status().ok() ? Result<Model>(std::move(model)) : load.status().error();
  model.head_bias_ = load.vector_if(c.head_bias, "lm_head.bias", c.vocab);
  const char* head = c.tied_embeddings ? c.family->embedding : "lm_head.weight";
  model.lm_head_.push_back(load.matrix(head, c.vocab, c.d_model));
  if (!load.status().ok()) return load.status().error();
  return model;
}

}  // namespace pando::reference
