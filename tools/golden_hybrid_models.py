"""Fixtures of golden_transformers.py: models that have layers with a state."""
from golden_sizes import GRANITE, LFM2, NEMOTRON_H, OLMO_HYBRID, QWEN3_5, layers, rope

# name: seed, family, configuration, type of the stored weights, lengths of the sequences
HYBRIDS = {
    "qwen3_5-tied": (20, "Qwen3_5", dict(QWEN3_5, tie_word_embeddings=True,
                                         layer_types=layers("rara", "linear_attention")),
                     "float32", (90, 37)),
    # One value head for a key head; the interval gives the kinds of layers.
    "qwen3_5-untied": (21, "Qwen3_5", dict(QWEN3_5, num_hidden_layers=5, linear_num_value_heads=2,
                                           linear_conv_kernel_dim=3, attention_bias=True,
                                           full_attention_interval=3, tie_word_embeddings=False,
                                           rope_parameters=rope("default", 500.0,
                                                                partial_rotary_factor=0.5)),
                       "bfloat16", (90, 37)),
    # As the published models are saved: with a vision tower, and other names.
    "qwen3_5-vision": (22, "Qwen3_5", dict(QWEN3_5, tie_word_embeddings=True,
                                           layer_types=layers("rrra", "linear_attention")),
                       "float16", (90, 37)),
    # Without experts, which no published model is.
    "qwen3_next-dense": (28, "Qwen3Next", dict(QWEN3_5, num_experts=0, linear_num_value_heads=6,
                                               tie_word_embeddings=False,
                                               layer_types=layers("rara", "linear_attention")),
                         "float32", (90, 37)),
    # Without rotation and with the tensors of the published model.
    "olmo_hybrid-published": (93, "OlmoHybrid",
                              dict(OLMO_HYBRID, tie_word_embeddings=False, rope_parameters=rope("default", None),
                                   layer_types=layers("rara", "linear_attention")), "float32", (90, 37)),
    # As the library saves it. A large epsilon, which the delta-nets' own norm does not have.
    "olmo_hybrid-library": (94, "OlmoHybrid",
                            dict(OLMO_HYBRID, num_hidden_layers=5, linear_num_value_heads=2, linear_conv_kernel_dim=3,
                                 linear_allow_neg_eigval=False, attention_bias=True, rms_norm_eps=1e-3,
                                 tie_word_embeddings=True, rope_parameters=rope("default", 700.0)),
                            "bfloat16", (90, 37)),
    "lfm2-tied": (23, "Lfm2", dict(LFM2, tie_word_embeddings=True,
                                   layer_types=layers("rara", "conv")), "float32", (90, 37)),
    "lfm2-untied": (24, "Lfm2", dict(LFM2, block_auto_adjust_ff_dim=False, conv_L_cache=4,
                                     full_attn_idxs=[2], tie_word_embeddings=False,
                                     rope_parameters=rope("default", 700.0)), "bfloat16",
                    (90, 37)),
    "granite-tied": (25, "GraniteMoeHybrid", dict(GRANITE, tie_word_embeddings=True,
                                                  layer_types=layers("rara", "linear_attention")),
                     "float32", (90, 37)),
    "granite-groups": (26, "GraniteMoeHybrid",
                       dict(GRANITE, mamba_n_groups=2, mamba_conv_bias=False, mamba_d_conv=3,
                            attention_bias=True, tie_word_embeddings=False,
                            layer_types=layers("rrar", "linear_attention")),
                       "bfloat16", (90, 37)),
    # Granite 4 without states.
    "granite-rope": (27, "GraniteMoeHybrid",
                     dict(GRANITE, num_hidden_layers=2, position_embedding_type="rope",
                          tie_word_embeddings=True, layer_types=layers("aa", "")),
                     "float16", (90, 37)),
    # The library does not tie embeddings, whatever the file says.
    "nemotron_h-names": (90, "NemotronH",
                         dict(NEMOTRON_H, tie_word_embeddings=False,
                              layers_block_type=["linear_attention", "mlp", "full_attention", "linear_attention",
                                                 "full_attention", "mlp"]),
                         "float32", (90, 37)),
    # A pattern in the place of names, and last a layer that mixes.
    "nemotron_h-pattern": (91, "NemotronH",
                           dict(NEMOTRON_H, use_conv_bias=False, n_groups=4, tie_word_embeddings=False,
                                hybrid_override_pattern="-M*-*M"),
                           "bfloat16", (90, 37)),
    "nemotron_h-moe": (92, "NemotronH",
                       dict(NEMOTRON_H, tie_word_embeddings=False, n_routed_experts=6, num_experts_per_tok=3,
                            moe_intermediate_size=28, moe_shared_expert_intermediate_size=40, n_group=2, topk_group=1,
                            routed_scaling_factor=2.5, norm_topk_prob=True, hybrid_override_pattern="EM*EME"),
                       "float32", (90, 37)),
}
