"""Sizes and rotations that fixtures of golden_transformers.py share, and parts that read images."""
SIZES = dict(hidden_size=32, intermediate_size=72, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=256, bos_token_id=1, eos_token_id=2)
LLAMA = dict(SIZES, intermediate_size=88)
QWEN3 = dict(SIZES, head_dim=16, eos_token_id=[2, 3])
SMALL = dict(SIZES, vocab_size=61, pad_token_id=0)  # beyond the original context and the window
NEOX = {key: value for key, value in SMALL.items() if key != "num_key_value_heads"}
# Layers with a state, and layers with attention.
HYBRID = dict(SMALL, num_hidden_layers=4)
QWEN3_5 = dict(HYBRID, head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4,
               linear_key_head_dim=12, linear_value_head_dim=20)
OLMO_HYBRID = dict(HYBRID, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=12,
                   linear_value_head_dim=20)
LFM2 = dict(HYBRID, block_multiple_of=8)
GRANITE = dict(HYBRID, num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=72,
               mamba_n_heads=4, mamba_d_state=12, mamba_chunk_size=16, embedding_multiplier=5.0,
               residual_multiplier=0.6, attention_multiplier=0.2, logits_scaling=3.0)
# Groups of B and C, and a state, whose sizes are no other's.
NEMOTRON_H = dict({key: value for key, value in SMALL.items() if key != "num_hidden_layers"}, head_dim=16,
                  mamba_num_heads=4, mamba_head_dim=20, ssm_state_size=12, n_groups=2, conv_kernel=3, chunk_size=16)
MULTIPLIERS = dict(embedding_multiplier=5.0, residual_multiplier=0.6, attention_multiplier=0.2, logits_scaling=3.0)
# Mixtures of experts, whose width is no whole number of lanes.
MOE = dict(SMALL, num_experts_per_tok=3)
QWEN3_5_MOE = {key: value for key, value in QWEN3_5.items() if key != "intermediate_size"}
GPT_OSS = dict(SMALL, head_dim=16, intermediate_size=40, num_local_experts=5, num_experts_per_tok=2, swiglu_limit=1.5,
               sliding_window=20, tie_word_embeddings=False)
# Attention over latents, where no size of a head is another's.
LATENT = dict(SMALL, num_key_value_heads=4, kv_lora_rank=24, q_lora_rank=20, qk_nope_head_dim=12,
              qk_rope_head_dim=8, v_head_dim=20, moe_intermediate_size=24)
PIXTRAL = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, patch_size=4,
               image_size=16)
GEMMA4_VISION = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
                     num_key_value_heads=2, head_dim=8, patch_size=4, position_embedding_size=16)
SIGLIP = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, patch_size=4,
              image_size=16)
VISION = dict(depth=1, hidden_size=16, num_heads=2, intermediate_size=16, patch_size=2,
              temporal_patch_size=1, spatial_merge_size=1, out_hidden_size=32,
              num_position_embeddings=4)
QWEN2_5_VISION = dict(depth=1, hidden_size=16, num_heads=2, intermediate_size=16, patch_size=2, temporal_patch_size=1,
                      spatial_merge_size=1, out_hidden_size=32, window_size=4, fullatt_block_indexes=[0])
GLM4_VISION = dict(depth=1, hidden_size=16, num_heads=2, intermediate_size=16, patch_size=4, image_size=16,
                   temporal_patch_size=1, spatial_merge_size=1, out_hidden_size=32)
QWEN3_VISION = dict(VISION, deepstack_visual_indexes=[0])


def layers(pattern, recurrent):
    return [recurrent if letter == "r" else "full_attention" for letter in pattern]


def rope(kind, theta=10000.0, **fields):
    return dict(rope_type=kind, rope_theta=theta, **fields)


GEMMA4_ROPE = dict(full_attention=rope("proportional", 700.0, partial_rotary_factor=0.5),
                   sliding_attention=rope("default", 300.0))
