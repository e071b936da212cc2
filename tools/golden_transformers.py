#!/usr/bin/env python3
"""Makes the fixtures of tests/model/data: tiny random models and what the transformers library
computes from them. Needs tools/requirements-golden.txt; the result does not depend on the machine
beyond the last bits of the logits.

    python3 tools/golden_transformers.py tests/model/data [NAME ...]
"""
import argparse
import json
import pathlib

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

SIZES = dict(hidden_size=32, intermediate_size=72, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=256, bos_token_id=1, eos_token_id=2)
LLAMA = dict(SIZES, intermediate_size=88)
QWEN3 = dict(SIZES, head_dim=16, eos_token_id=[2, 3])
SMALL = dict(SIZES, vocab_size=61, pad_token_id=0)  # beyond the original context and the window
# Layers with a state, and layers with attention.
HYBRID = dict(SMALL, num_hidden_layers=4)
QWEN3_5 = dict(HYBRID, head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4,
               linear_key_head_dim=12, linear_value_head_dim=20)
LFM2 = dict(HYBRID, block_multiple_of=8)
GRANITE = dict(HYBRID, num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=72,
               mamba_n_heads=4, mamba_d_state=12, mamba_chunk_size=16, embedding_multiplier=5.0,
               residual_multiplier=0.6, attention_multiplier=0.2, logits_scaling=3.0)
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


def layers(pattern, recurrent):
    return [recurrent if letter == "r" else "full_attention" for letter in pattern]


def rope(kind, theta=10000.0, **fields):
    return dict(rope_type=kind, rope_theta=theta, **fields)


GEMMA4_ROPE = dict(full_attention=rope("proportional", 700.0, partial_rotary_factor=0.5),
                   sliding_attention=rope("default", 300.0))


# name: seed, family, configuration, type of the stored weights, lengths of the sequences
MODELS = {
    "llama-tied": (1, "Llama", dict(LLAMA, vocab_size=192, tie_word_embeddings=True), "float32",
                   (40, 37)),
    "llama-untied": (2, "Llama",
                     dict(LLAMA, num_attention_heads=6, num_key_value_heads=3, hidden_size=48,
                          vocab_size=131, rms_norm_eps=1e-5, rope_parameters=rope("default", 5e5),
                          tie_word_embeddings=False), "bfloat16", (40, 37)),
    "qwen3-tied": (3, "Qwen3", dict(QWEN3, vocab_size=192, rope_parameters=rope("default", 1e6),
                                    tie_word_embeddings=True), "float16", (40, 37)),
    "qwen3-untied": (4, "Qwen3", dict(QWEN3, vocab_size=97, tie_word_embeddings=False), "float32",
                     (40, 37)),
    "llama-linear": (5, "Llama", dict(SMALL, tie_word_embeddings=True,
                                      rope_parameters=rope("linear", factor=4.0)),
                     "float16", (90, 37)),
    "llama-llama3": (6, "Llama", dict(SMALL, head_dim=16, tie_word_embeddings=False,
                                      rope_parameters=rope(
                                          "llama3", 500.0, factor=8.0, low_freq_factor=1.0,
                                          high_freq_factor=4.0,
                                          original_max_position_embeddings=32)),
                     "float32", (90, 37)),
    "llama-yarn": (7, "Llama", dict(SMALL, head_dim=24, max_position_embeddings=128,
                                    tie_word_embeddings=True,
                                    rope_parameters=rope("yarn", factor=4.0,
                                                         original_max_position_embeddings=32)),
                   "bfloat16", (120, 37)),
    "llama-yarn-options": (8, "Llama", dict(SMALL, head_dim=24, tie_word_embeddings=False,
                                            rope_parameters=rope(
                                                "yarn", 700.0, factor=6.5, mscale=0.8,
                                                mscale_all_dim=0.3, beta_fast=9.0, beta_slow=0.5,
                                                truncate=False,
                                                original_max_position_embeddings=40)),
                           "float32", (90, 37)),
    "llama-bias": (9, "Llama", dict(SMALL, num_key_value_heads=1, attention_bias=True,
                                    tie_word_embeddings=True), "float32", (40, 37)),
    "mistral-window": (10, "Mistral", dict(SMALL, sliding_window=20, tie_word_embeddings=False),
                       "bfloat16", (90, 37)),
    "mistral-full": (11, "Mistral", dict(SMALL, head_dim=12, sliding_window=None,
                                         tie_word_embeddings=True), "float32", (90, 37)),
    "qwen2-full": (12, "Qwen2", dict(SMALL, tie_word_embeddings=True), "float16", (90, 37)),
    "qwen2-window": (13, "Qwen2", dict(SMALL, num_hidden_layers=3, use_sliding_window=True,
                                       sliding_window=11, max_window_layers=1,
                                       tie_word_embeddings=False,
                                       rope_parameters=rope("yarn", factor=4.0,
                                                            original_max_position_embeddings=32)),
                     "float32", (90, 37)),
    "qwen3-window": (14, "Qwen3", dict(SMALL, head_dim=16, attention_bias=True,
                                       use_sliding_window=True, sliding_window=25,
                                       layer_types=["sliding_attention", "full_attention"],
                                       tie_word_embeddings=False), "float32", (90, 37)),
    "qwen3-embedding": (15, "Qwen3", dict(SMALL, head_dim=16, tie_word_embeddings=True),
                        "bfloat16", (90, 37)),
    "phi3-window": (16, "Phi3", dict(SMALL, num_key_value_heads=4, sliding_window=18,
                                     tie_word_embeddings=False), "float32", (90, 37)),
    "phi3-longrope": (17, "Phi3", dict(SMALL, hidden_size=64, tie_word_embeddings=True,
                                       max_position_embeddings=192, partial_rotary_factor=0.75,
                                       original_max_position_embeddings=48,
                                       rope_parameters=rope(
                                           "longrope",
                                           short_factor=[1.0, 1.05, 1.1, 1.3, 1.7, 2.0],
                                           long_factor=[1.0, 1.5, 2.4, 3.9, 8.0, 20.0])),
                      "float16", (90, 37)),
    "olmo2-tied": (18, "Olmo2", dict(SMALL, tie_word_embeddings=True), "bfloat16", (90, 37)),
    "olmo2-bias": (19, "Olmo2", dict(SMALL, num_key_value_heads=1, attention_bias=True,
                                     tie_word_embeddings=False,
                                     rope_parameters=rope("yarn", factor=4.0,
                                                          original_max_position_embeddings=32)),
                   "float32", (90, 37)),
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
    "smollm3-tied": (29, "SmolLM3", dict(SMALL, num_hidden_layers=5, tie_word_embeddings=True), "float32", (90, 37)),
    "smollm3-list": (30, "SmolLM3", dict(SMALL, num_hidden_layers=3, no_rope_layers=[0, 1, 0, 1], attention_bias=True,
                                         tie_word_embeddings=False,
                                         rope_parameters=rope("yarn", factor=4.0,
                                                              original_max_position_embeddings=32)),
                     "bfloat16", (90, 37)),
    "granite3-tied": (31, "Granite", dict(SMALL, **MULTIPLIERS, tie_word_embeddings=True), "float16", (90, 37)),
    "granite3-bias": (32, "Granite", dict(SMALL, **MULTIPLIERS, attention_bias=True, num_key_value_heads=1,
                                          tie_word_embeddings=False), "float32", (90, 37)),
    # Every fourth layer sees all, and only its rotation is stretched.
    "olmo3-tied": (33, "Olmo3", dict(SMALL, num_hidden_layers=5, sliding_window=13, tie_word_embeddings=True,
                                     rope_parameters=dict(
                                         full_attention=rope("yarn", 5e5, factor=4.0,
                                                             original_max_position_embeddings=32),
                                         sliding_attention=rope("default", 700.0))), "float32", (90, 37)),
    "olmo3-types": (34, "Olmo3", dict(SMALL, num_key_value_heads=1, sliding_window=20, attention_bias=True,
                                      layer_types=["full_attention", "sliding_attention"], tie_word_embeddings=False,
                                      rope_parameters=dict(
                                          full_attention=rope("yarn", 800.0, factor=4.0, attention_factor=1.25,
                                                              original_max_position_embeddings=32),
                                          sliding_attention=rope("default", 5e5))), "bfloat16", (90, 37)),
    "ministral3-tied": (35, "Ministral3", dict(SMALL, head_dim=12, tie_word_embeddings=True,
                                               rope_parameters=rope("yarn", factor=8.0, mscale=1.0, mscale_all_dim=1.0,
                                                                    beta_fast=32.0, beta_slow=1.0,
                                                                    llama_4_scaling_beta=0.3,
                                                                    original_max_position_embeddings=16)),
                        "float32", (90, 37)),
    # As the published models are saved: with a vision tower.
    "ministral3-vision": (36, "Mistral3", dict(SMALL, model_type="ministral3", head_dim=16, tie_word_embeddings=False,
                                               sliding_window=40,
                                               rope_parameters=rope("yarn", 700.0, factor=4.0, mscale=1.0,
                                                                    mscale_all_dim=0.5, llama_4_scaling_beta=0.1,
                                                                    original_max_position_embeddings=20)),
                          "bfloat16", (90, 37)),
    "mistral3-vision": (37, "Mistral3", dict(SMALL, model_type="mistral", head_dim=16, sliding_window=None,
                                             tie_word_embeddings=False, rope_parameters=rope("default", 1e6)),
                        "float16", (90, 37)),
    "cohere2-tied": (38, "Cohere2", dict(SMALL, num_hidden_layers=5, sliding_window=14, logit_scale=0.25,
                                         tie_word_embeddings=True), "float32", (90, 37)),
    "cohere2-bias": (39, "Cohere2", dict(SMALL, num_hidden_layers=3, hidden_size=48, sliding_window=30,
                                         logit_scale=0.3, attention_bias=True, tie_word_embeddings=False,
                                         layer_types=layers("ara", "sliding_attention"),
                                         rope_parameters=rope("linear", 700.0, factor=3.0)), "bfloat16", (90, 37)),
    "glm4-untied": (40, "Glm4", dict(SMALL, head_dim=16, tie_word_embeddings=False), "float32", (90, 37)),
    # Six of a head's channels turn.
    "glm4-tied": (41, "Glm4", dict(SMALL, head_dim=24, attention_bias=False, num_key_value_heads=1,
                                   tie_word_embeddings=True,
                                   rope_parameters=rope("default", 500.0, partial_rotary_factor=0.25)),
                  "float16", (90, 37)),
    "seed_oss-untied": (42, "SeedOss", dict(SMALL, head_dim=16, tie_word_embeddings=False), "float32", (90, 37)),
    "seed_oss-output": (43, "SeedOss", dict(SMALL, head_dim=12, attention_bias=False, attention_out_bias=True,
                                            tie_word_embeddings=True), "bfloat16", (90, 37)),
    # As the larger model: every fourth layer sees all, and does not rotate.
    "exaone4-window": (48, "Exaone4", dict(SMALL, num_hidden_layers=5, sliding_window=13, tie_word_embeddings=False,
                                           rope_parameters=rope("llama3", 500.0, factor=8.0, low_freq_factor=1.0,
                                                                high_freq_factor=4.0,
                                                                original_max_position_embeddings=32)),
                       "float32", (90, 37)),
    # As the smaller one: all layers see all, and rotate.
    "exaone4-full": (49, "Exaone4", dict(SMALL, head_dim=16, sliding_window=None, layer_types=layers("aa", ""),
                                         tie_word_embeddings=True), "bfloat16", (90, 37)),
    "ernie4_5-tied": (50, "Ernie4_5", dict(SMALL, head_dim=12, tie_word_embeddings=True), "float32", (90, 37)),
    "ernie4_5-untied": (51, "Ernie4_5", dict(SMALL, head_dim=None, num_key_value_heads=1, tie_word_embeddings=False,
                                             rope_parameters=rope("yarn", 700.0, factor=4.0,
                                                                  original_max_position_embeddings=32)),
                        "bfloat16", (90, 37)),
    "hunyuan-tied": (52, "HunYuanDenseV1", dict(SMALL, head_dim=16, tie_word_embeddings=True,
                                                rope_parameters=rope("dynamic", 500.0, alpha=50.0, factor=1.0)),
                     "float32", (90, 37)),
    "hunyuan-bias": (53, "HunYuanDenseV1", dict(SMALL, head_dim=12, attention_bias=True, num_key_value_heads=1,
                                                tie_word_embeddings=False), "bfloat16", (90, 37)),
    "gemma2-tied": (46, "Gemma2", dict(SMALL, num_hidden_layers=3, head_dim=16, sliding_window=13,
                                       query_pre_attn_scalar=24, attn_logit_softcapping=2.5,
                                       final_logit_softcapping=4.0, tie_word_embeddings=True), "float32", (90, 37)),
    "gemma2-full": (47, "Gemma2", dict(SMALL, head_dim=12, sliding_window=20, query_pre_attn_scalar=12,
                                       attn_logit_softcapping=None, attention_bias=True, tie_word_embeddings=False,
                                       layer_types=layers("ar", "sliding_attention")), "bfloat16", (90, 37)),
    "gemma3-tied": (44, "Gemma3", dict(SMALL, num_hidden_layers=7, head_dim=16, sliding_window=13,
                                       query_pre_attn_scalar=24, tie_word_embeddings=True,
                                       rope_parameters=dict(full_attention=rope("linear", 1e6, factor=8.0),
                                                            sliding_attention=rope("default", 700.0))),
                    "float32", (90, 37)),
    # As the published models are saved: with a vision tower.
    "gemma3-vision": (45, "Gemma3", dict(SMALL, num_hidden_layers=3, head_dim=12, sliding_window=30,
                                         query_pre_attn_scalar=12, attention_bias=True, tie_word_embeddings=False,
                                         layer_types=layers("ara", "sliding_attention")), "bfloat16", (90, 37)),
    # One of three layers is dense.
    "qwen3_moe-tied": (60, "Qwen3Moe", dict(MOE, num_hidden_layers=3, head_dim=16, moe_intermediate_size=20,
                                            num_experts=6, norm_topk_prob=True, mlp_only_layers=[1],
                                            tie_word_embeddings=True), "float32", (90, 37)),
    "qwen3_moe-untied": (61, "Qwen3Moe", dict(MOE, head_dim=12, moe_intermediate_size=24, num_experts=5,
                                              attention_bias=True, tie_word_embeddings=False), "bfloat16", (90, 37)),
    "mixtral-window": (62, "Mixtral", dict(SMALL, intermediate_size=24, num_local_experts=5, num_experts_per_tok=2,
                                           sliding_window=20, tie_word_embeddings=False), "bfloat16", (90, 37)),
    "olmoe-untied": (63, "Olmoe", dict(MOE, intermediate_size=20, num_experts=7, tie_word_embeddings=False),
                     "float32", (90, 37)),
    "granite_moe-tied": (64, "GraniteMoe", dict(MOE, **MULTIPLIERS, intermediate_size=28, num_local_experts=6,
                                                tie_word_embeddings=True), "float16", (90, 37)),
    "granite_moe-shared": (65, "GraniteMoeShared", dict(MOE, **MULTIPLIERS, intermediate_size=28, num_local_experts=6,
                                                        shared_intermediate_size=40, tie_word_embeddings=False),
                           "float32", (90, 37)),
    "granite_moe-hybrid": (66, "GraniteMoeHybrid",
                           dict(GRANITE, intermediate_size=24, num_local_experts=6, num_experts_per_tok=2,
                                shared_intermediate_size=40, tie_word_embeddings=True,
                                layer_types=layers("rara", "linear_attention")), "bfloat16", (90, 37)),
    # The library takes the short factors of longrope for sequences of any length.
    "phimoe-longrope": (67, "Phimoe", dict(SMALL, intermediate_size=24, num_local_experts=6, num_experts_per_tok=2,
                                           router_jitter_noise=0.2, lm_head_bias=True, attention_bias=True,
                                           tie_word_embeddings=False, original_max_position_embeddings=96,
                                           rope_parameters=rope("longrope", 700.0, short_mscale=1.2, long_mscale=1.2,
                                                                original_max_position_embeddings=96,
                                                                short_factor=[1.0, 1.1, 1.5, 2.0],
                                                                long_factor=[1.0, 2.0, 5.0, 20.0])),
                        "float32", (90, 37)),
    "phimoe-window": (68, "Phimoe", dict(SMALL, intermediate_size=24, num_local_experts=4, num_experts_per_tok=2,
                                         sliding_window=20, tie_word_embeddings=False), "bfloat16", (90, 37)),
    "qwen3_5_moe-tied": (69, "Qwen3_5Moe", dict(QWEN3_5_MOE, moe_intermediate_size=20,
                                                shared_expert_intermediate_size=28, num_experts=7,
                                                num_experts_per_tok=3, tie_word_embeddings=True,
                                                layer_types=layers("rara", "linear_attention")), "float32", (90, 37)),
    "qwen3_5_moe-vision": (70, "Qwen3_5Moe", dict(QWEN3_5_MOE, moe_intermediate_size=24,
                                                  shared_expert_intermediate_size=20, num_experts=5,
                                                  num_experts_per_tok=2, tie_word_embeddings=False,
                                                  layer_types=layers("rrra", "linear_attention")),
                           "bfloat16", (90, 37)),
    "qwen3_next-experts": (71, "Qwen3Next", dict(QWEN3_5, num_experts=6, num_experts_per_tok=2,
                                                 moe_intermediate_size=20, shared_expert_intermediate_size=28,
                                                 linear_num_value_heads=6, mlp_only_layers=[3],
                                                 tie_word_embeddings=False,
                                                 layer_types=layers("rara", "linear_attention")), "float32", (90, 37)),
    "gpt_oss-float": (80, "GptOss", dict(GPT_OSS, num_hidden_layers=3,
                                          rope_parameters=rope("yarn", 150000.0, factor=4.0, truncate=False,
                                                               original_max_position_embeddings=32)),
                      "bfloat16", (90, 37)),
    # Four-bit experts, whose rows are whole groups of 32.
    "gpt_oss-mxfp4": (81, "GptOss", dict(GPT_OSS, hidden_size=64, intermediate_size=96, num_experts_per_tok=3), "bfloat16",
                      (90, 37)),
    "deepseek_v2-dense": (85, "DeepseekV2", dict(LATENT, q_lora_rank=None, first_k_dense_replace=2,
                                                 num_experts_per_tok=1, tie_word_embeddings=False,
                                                 rope_parameters=rope("yarn", factor=4.0, mscale=0.7,
                                                                      mscale_all_dim=0.7,
                                                                      original_max_position_embeddings=32)),
                          "float32", (90, 37)),
    "deepseek_v2-groups": (81, "DeepseekV2", dict(LATENT, num_hidden_layers=3, first_k_dense_replace=1,
                                                  n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=2,
                                                  topk_method="group_limited_greedy", n_group=3, topk_group=2,
                                                  routed_scaling_factor=1.5, tie_word_embeddings=True,
                                                  rope_parameters=rope("yarn", 700.0, factor=6.0, mscale=1.0,
                                                                       mscale_all_dim=0.5,
                                                                       original_max_position_embeddings=40)),
                           "bfloat16", (90, 37)),
    "deepseek_v3-tied": (82, "DeepseekV3", dict(LATENT, num_hidden_layers=3, first_k_dense_replace=1, n_group=4,
                                                topk_group=2, n_routed_experts=8, num_experts_per_tok=3,
                                                tie_word_embeddings=True), "float32", (90, 37)),
    "glm4_moe_lite-untied": (83, "Glm4MoeLite", dict(LATENT, num_hidden_layers=3, n_routed_experts=8,
                                                     num_experts_per_tok=2, rope_parameters=rope("default", 1e6),
                                                     tie_word_embeddings=False), "float16", (90, 37)),
    "glm4_moe_lite-dense": (84, "Glm4MoeLite", dict(LATENT, q_lora_rank=None, mlp_layer_types=["dense", "dense"],
                                                    tie_word_embeddings=True), "bfloat16", (90, 37)),
    # The two last layers read the keys of layers 2 and 1.
    "gemma4-inputs": (48, "Gemma4", dict(SMALL, num_hidden_layers=5, head_dim=16, global_head_dim=32,
                                         sliding_window=13, layer_types=layers("rarra", "sliding_attention"),
                                         num_kv_shared_layers=2, use_double_wide_mlp=True,
                                         hidden_size_per_layer_input=12, vocab_size_per_layer_input=70,
                                         final_logit_softcapping=4.0, rope_parameters=GEMMA4_ROPE,
                                         tie_word_embeddings=True), "float32", (90, 37)),
    # Of layers that see all, the keys are the values too.
    "gemma4-keys": (49, "Gemma4", dict(SMALL, num_hidden_layers=7, num_key_value_heads=4, head_dim=12,
                                       global_head_dim=24, num_global_key_value_heads=2, attention_k_eq_v=True,
                                       attention_bias=True, sliding_window=20, hidden_size_per_layer_input=0,
                                       tie_word_embeddings=False), "bfloat16", (90, 37)),
    # As the published models are saved: with a vision tower.
    "gemma4-vision": (52, "Gemma4", dict(SMALL, num_hidden_layers=4, head_dim=16, global_head_dim=16,
                                         num_global_key_value_heads=1, attention_k_eq_v=True, sliding_window=9,
                                         layer_types=layers("rara", "sliding_attention"), num_kv_shared_layers=2,
                                         hidden_size_per_layer_input=8, vocab_size_per_layer_input=61,
                                         rope_parameters=GEMMA4_ROPE, tie_word_embeddings=True),
                      "float16", (90, 37)),
}
# Fixtures whose config.json has the form that files had before rope_parameters.
OLD_FORM = {"llama-linear", "llama-yarn", "qwen2-window", "phi3-longrope", "olmo3-types", "hunyuan-tied"}
# Saved without the head and its prefix, as the Qwen3 embedding models are.
BARE = {"qwen3-embedding"}
# Saved as part of a model that reads images too.
WITH_VISION = {"qwen3_5-vision": VISION, "qwen3_5_moe-vision": VISION, "ministral3-vision": PIXTRAL, "mistral3-vision": PIXTRAL,
               "gemma3-vision": SIGLIP, "gemma4-vision": GEMMA4_VISION}
# Experts in the form that the published models of gpt-oss have.
MXFP4 = {"gpt_oss-mxfp4"}
# Fixtures whose config.json has the form that files had before per_layer_config.
GLOBAL_HEADS = {"gemma4-inputs", "gemma4-vision"}
POSITIONS = (0, 1, 7, 16, 31, 36)


def randomise(model, generator):
    """Norms near 1, biases near 0, states that fade over some ten tokens, and matrices large enough
    that attention is far from uniform."""
    zero_centred = {id(module.weight) for module in model.modules()
                    if type(module).__name__ in ("Qwen3_5RMSNorm", "Qwen3_5MoeRMSNorm", "Qwen3NextRMSNorm",
                                                 "Gemma2RMSNorm", "Gemma3RMSNorm")}  # w of 1 + w
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        if name.endswith((".bias", "dt_bias")):
            parameter.data = 0.5 * noise
        elif name.endswith("A_log"):
            parameter.data = -2.0 + 0.7 * noise
        elif parameter.dim() == 1:
            parameter.data = (0.0 if id(parameter) in zero_centred else 1.0) + 0.3 * noise
        else:
            parameter.data = 1.5 * noise / parameter.shape[-1] ** 0.5
    if type(model).__name__.startswith("Gemma4"):  # products of queries and keys are not divided by a root
        for name, parameter in model.named_parameters():
            if name.endswith("q_norm.weight"):
                parameter.data /= parameter.shape[0] ** 0.5
    for name, buffer in model.named_buffers():
        if name.endswith("e_score_correction_bias"):
            buffer.copy_(0.1 * torch.randn(buffer.shape, generator=generator))
        if name.endswith("layer_scalar"):
            buffer.data = 1.0 + 0.3 * torch.randn(buffer.shape, generator=generator)


def to_global_heads(path):
    config = json.loads(path.read_text())
    text = config.get("text_config", config)
    del text["per_layer_config"]
    fields = MODELS[path.parent.name][2]
    for name in ("head_dim", "global_head_dim", "num_key_value_heads", "num_global_key_value_heads"):
        if name in fields:
            text[name] = fields[name]
    path.write_text(json.dumps(config, indent=2) + "\n")


def to_old_form(path):
    config = json.loads(path.read_text())
    scaling = config.pop("rope_parameters")
    by_type = "full_attention" in scaling  # the layers with a window have the library's rotation
    scaling = scaling["full_attention"] if by_type else scaling
    config["rope_theta"] = scaling.pop("rope_theta")
    if "partial_rotary_factor" in scaling:
        config["partial_rotary_factor"] = scaling.pop("partial_rotary_factor")
    if not by_type:  # there the library knows the newer name only
        scaling["type"] = scaling.pop("rope_type")
    if "original_max_position_embeddings" in config:
        scaling.pop("original_max_position_embeddings", None)
    config["rope_scaling"] = scaling
    if not by_type:
        config.pop("layer_types", None)
    path.write_text(json.dumps(config, indent=2) + "\n")


def to_mxfp4(folder, generator):
    """Replaces the experts by random ones in groups of four-bit floats. Returns what they are worth, by name."""
    path = folder / "model.safetensors"
    tensors, worth = load_file(path), {}
    for name in [name for name in tensors if name.endswith((".experts.gate_up_proj", ".experts.down_proj"))]:
        experts, columns, rows = tensors.pop(name).shape
        blocks = torch.randint(0, 256, (experts, rows, columns // 32, 16), generator=generator, dtype=torch.uint8)
        scales = torch.randint(121, 125, (experts, rows, columns // 32), generator=generator, dtype=torch.uint8)
        tensors[f"{name}_blocks"], tensors[f"{name}_scales"] = blocks, scales
        worth[name] = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)
    save_file(tensors, path, metadata={"format": "pt"})
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}
    path.write_text(json.dumps(config, indent=2) + "\n")
    return worth


def named_class(name, family, fields):
    if name in WITH_VISION:
        config = getattr(transformers, family + "Config")(
            text_config=fields, vision_config=WITH_VISION[name],
            tie_word_embeddings=fields["tie_word_embeddings"])
        return getattr(transformers, family + "ForConditionalGeneration"), config
    of_text = getattr(transformers, family + "TextConfig", None)
    config = of_text or getattr(transformers, family + "Config")
    return getattr(transformers, family + "ForCausalLM"), config(**fields)


def make(name, folder):
    seed, family, fields, dtype, lengths = MODELS[name]
    model_class, config = named_class(name, family, fields)
    generator = torch.Generator().manual_seed(seed)
    model = model_class(config)
    randomise(model, generator)
    model.to(getattr(torch, dtype))
    (model.model if name in BARE else model).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    path = folder / "config.json"
    if name in BARE:
        path.write_text(path.read_text().replace(family + "Model", family + "ForCausalLM"))
    if name in OLD_FORM:
        to_old_form(path)
    if name in GLOBAL_HEADS:
        to_global_heads(path)
    # Read back rather than converted: `to` would round the rotary tables as well.
    model = model_class.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    if name in MXFP4:
        parameters = dict(model.named_parameters())
        for parameter, values in to_mxfp4(folder, generator).items():
            parameters[parameter].data = values
    sequences = []
    for n_tokens in lengths:
        tokens = torch.randint(0, fields["vocab_size"], (1, n_tokens), generator=generator)
        with torch.no_grad():
            logits = model(tokens).logits[0]
        rows = [{"position": p, "logits": [float(f"{x:.7g}") for x in logits[p].tolist()]}
                for p in POSITIONS + ((60, n_tokens - 1) if n_tokens > 60 else ())]
        sequences.append({"tokens": tokens[0].tolist(), "rows": rows})
    text = json.dumps({"model": name, "sequences": sequences}, separators=(",", ":"))
    (folder / "golden.json").write_text(text.replace('{"position"', '\n{"position"') + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path, help="folder that gets one folder per model")
    parser.add_argument("names", nargs="*", help="models to make; all where none is named")
    arguments = parser.parse_args()
    for name in arguments.names or MODELS:
        make(name, arguments.out / name)


if __name__ == "__main__":
    main()
