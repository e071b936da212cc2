"""Fixtures of golden_transformers.py: models that have layers with a state."""
from golden_sizes import GRANITE, LFM2, QWEN3_5, layers, rope

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
}
