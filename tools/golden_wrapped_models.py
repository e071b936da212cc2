"""Fixtures of golden_transformers.py: models of usual families, saved as the text part of models that also read images
or sounds."""
from golden_sizes import LFM2, SIGLIP, SMALL, layers, rope

AUDIO = dict(hidden_size=16, d_model=16, intermediate_size=64, encoder_ffn_dim=16, num_hidden_layers=1, encoder_layers=1,
             num_attention_heads=2, encoder_attention_heads=2)
QWEN2_VISION = dict(depth=1, embed_dim=16, hidden_size=32, num_heads=2, patch_size=2, temporal_patch_size=1,
                    spatial_merge_size=1)

# name: seed, family of the whole, configuration of the text part, type of the stored weights, lengths of the sequences
WRAPPED = {
    "llava-untied": (70, "Llava", dict(SMALL, model_type="llama", num_key_value_heads=1, tie_word_embeddings=False),
                     "float32", (90, 37)),
    "llava_next-window": (71, "LlavaNext", dict(SMALL, model_type="mistral", head_dim=12, sliding_window=20,
                                                tie_word_embeddings=False), "bfloat16", (90, 37)),
    "internvl-tied": (72, "InternVL", dict(SMALL, model_type="qwen2", tie_word_embeddings=True), "float32", (90, 37)),
    "smolvlm-tied": (73, "SmolVLM", dict(SMALL, model_type="llama", tie_word_embeddings=True,
                                         rope_parameters=rope("default", 1e5)), "float32", (90, 37)),
    "lfm2_vl-tied": (74, "Lfm2Vl", dict(LFM2, model_type="lfm2", tie_word_embeddings=True,
                                        layer_types=layers("rara", "conv")), "float32", (90, 37)),
    "voxtral-untied": (75, "Voxtral", dict(SMALL, model_type="llama", head_dim=16, tie_word_embeddings=False),
                       "bfloat16", (90, 37)),
    "qwen2_vl-untied": (76, "Qwen2VL", dict(SMALL, num_key_value_heads=1, tie_word_embeddings=False,
                                            rope_parameters=rope("default", 1e6, mrope_section=[2, 1, 1])),
                        "float32", (90, 37)),
}
# The parts beside the text.
PARTS = {
    "llava-untied": dict(vision_config=SIGLIP),
    "llava_next-window": dict(vision_config=SIGLIP),
    "internvl-tied": dict(vision_config=SIGLIP),
    "smolvlm-tied": dict(vision_config=SIGLIP),
    "lfm2_vl-tied": dict(vision_config=dict(SIGLIP, num_patches=4), projector_hidden_size=16),
    "voxtral-untied": dict(audio_config=AUDIO),
    "qwen2_vl-untied": dict(vision_config=QWEN2_VISION),
}
