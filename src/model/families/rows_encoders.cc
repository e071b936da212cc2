// Families whose rows see both ways, of models that give embeddings and classes but no text.
#include "model/families/hooks.h"
#include "model/families/rows.h"

namespace pando::model {
namespace {

// BERT: norms behind the sums; positions and parts of a pair from tables.
ModelSpec bert_spec() {
  return {.norm = Norm::kLayer,
          .norm_bias = true,
          .both_ways = true,
          .post_norm = true,
          .embedding_norm = true,
          .final_norm = false,
          .feed_forward_bias = true,
          .activation = Activation::kUngatedGelu,
          .qkv_bias = true,
          .o_bias = true};
}

DecoderFields bert_fields() {
  return {.kv_heads_as_heads = true,
          .rms_eps = 1e-12,
          .rms_eps_name = "layer_norm_eps",
          .activation = "gelu",
          .gelus = true,
          .tied = true};
}

constexpr const char* kBertSizes =
    R"({"vocab_size": 30522, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
        "num_attention_heads": 12, "max_position_embeddings": 512})";

constexpr LayerNames kBertLayer = {.attention_norm = nullptr,
                                   .attention_sum_norm = "attention.output.LayerNorm",
                                   .gguf_attention_sum_norm = "attn_output_norm",
                                   .feed_forward_norm = nullptr,
                                   .up = "intermediate.dense",
                                   .down = "output.dense",
                                   .feed_forward_sum_norm = "output.LayerNorm",
                                   .gguf_feed_forward_sum_norm = "layer_output_norm"};

Family bert_like(const char* name, const char* architecture) {
  return {.name = name,
          .architecture = architecture,
          .absent = kBertSizes,
          .fixed = bert_spec(),
          .decoder = bert_fields(),
          .windows = {Windows::kUnread},
          .only = {{"position_embedding_type", "absolute"}, {"is_decoder", false}},
          .layer = kBertLayer,
          .embedding = "model.embeddings.word_embeddings.weight",
          .read = read_bert,
          .write = write_bert,
          .add_mixer = add_bert_attention,
          .passed_over = beside_encoder};
}

std::vector<Family> berts() {
  Family bert = bert_like("bert", "BertModel");
  bert.gguf_architecture = "bert";
  bert.translate = translate_bert;
  // Row 0 of the table of positions is behind that of the token that fills up.
  Family roberta = bert_like("roberta", "RobertaModel");
  roberta.read = read_roberta;
  roberta.write = write_roberta;
  Family xlm_roberta = roberta;
  xlm_roberta.name = "xlm-roberta";
  xlm_roberta.architecture = "XLMRobertaModel";
  Family distilbert = bert_like("distilbert", "DistilBertModel");
  distilbert.other_names = {{"dim", "hidden_size"},
                            {"n_layers", "num_hidden_layers"},
                            {"n_heads", "num_attention_heads"},
                            {"hidden_dim", "intermediate_size"},
                            {"activation", "hidden_act"}};
  distilbert.absent =
      R"({"vocab_size": 30522, "hidden_size": 768, "intermediate_size": 3072,
          "num_hidden_layers": 6, "num_attention_heads": 12, "max_position_embeddings": 512})";
  distilbert.only = {};
  distilbert.read = read_distilbert;
  distilbert.add_mixer = add_distilbert_attention;
  distilbert.layer.attention_sum_norm = "sa_layer_norm";
  distilbert.layer.up = "ffn.lin1";
  distilbert.layer.down = "ffn.lin2";
  distilbert.layer.feed_forward_sum_norm = "output_layer_norm";
  return {bert, roberta, xlm_roberta, distilbert};
}

// Rotations instead of positions from a table.
std::vector<Family> rotating() {
  return {
      // Norms behind the sums; a gate.
      {.name = "nomic_bert",
       .architecture = "NomicBertModel",
       .gguf_architecture = "nomic-bert",
       .absent = R"({"vocab_size": 30528, "hidden_size": 768, "intermediate_size": 3072,
                     "num_hidden_layers": 12, "num_attention_heads": 12,
                     "max_position_embeddings": 2048})",
       .other_names = {{"n_embd", "hidden_size"},
                       {"n_layer", "num_hidden_layers"},
                       {"n_head", "num_attention_heads"},
                       {"n_inner", "intermediate_size"},
                       {"n_positions", "max_position_embeddings"},
                       {"layer_norm_epsilon", "layer_norm_eps"},
                       {"rotary_emb_base", "rope_theta"}},
       .fixed = {.norm = Norm::kLayer,
                 .norm_bias = true,
                 .both_ways = true,
                 .post_norm = true,
                 .embedding_norm = true,
                 .final_norm = false},
       .decoder = {.kv_heads_as_heads = true,
                   .rms_eps = 1e-12,
                   .rms_eps_name = "layer_norm_eps",
                   .tied = true,
                   .rope = {.theta = 1000.0}},
       .windows = {Windows::kUnread},
       .only = {{"prenorm", false},
                {"parallel_block", false},
                {"qkv_proj_bias", false},
                {"mlp_fc1_bias", false},
                {"mlp_fc2_bias", false},
                {"rotary_emb_fraction", 1.0},
                {"rotary_emb_interleaved", false},
                {"use_rms_norm", false}},
       .layer = {.attention_norm = nullptr, .feed_forward_norm = nullptr},
       .embedding = "model.embeddings.word_embeddings.weight",
       .embedding_norm = "model.emb_ln",
       .other_embedding_norm = "model.embeddings.LayerNorm",
       .read = read_nomic_bert,
       .write = write_nomic_bert,
       .translate = translate_nomic_bert,
       .layer_weights = nomic_bert_layer,
       .passed_over = beside_encoder},
      // Norms before attention and feed-forward, the first layer without one; a window in most
      // layers.
      {.name = "modernbert",
       .architecture = "ModernBertModel",
       .gguf_architecture = "modern-bert",
       .offers = {kSlidingBase},
       .absent = R"({"vocab_size": 50368, "hidden_size": 768, "intermediate_size": 1152,
                     "num_hidden_layers": 22, "num_attention_heads": 12,
                     "max_position_embeddings": 8192})",
       .fixed = {.norm = Norm::kLayer,
                 .both_ways = true,
                 .embedding_norm = true,
                 .activation = Activation::kGeluErf},
       .decoder = {.kv_heads_as_heads = true,
                   .rms_eps = 1e-5,
                   .rms_eps_name = "norm_eps",
                   .activation = "gelu",
                   .activation_name = "hidden_activation",
                   .tied = true},
       .windows = {Windows::kUnread},
       .only = {{"norm_bias", false}, {"attention_bias", false}, {"mlp_bias", false}},
       .layer = {.attention_norm = "attn_norm",
                 .qkv = "attn.Wqkv",
                 .output = "attn.Wo",
                 .feed_forward_norm = "mlp_norm"},
       .embedding = "model.embeddings.tok_embeddings.weight",
       .embedding_norm = "model.embeddings.norm",
       .last_norm = "model.final_norm",
       .read = read_modernbert,
       .write = write_modernbert,
       .translate = translate_modernbert,
       .layer_weights = modernbert_layer,
       .add_feed_forward = add_modernbert_feed_forward,
       .passed_over = beside_encoder},
      // Llama both ways.
      {.name = "eurobert",
       .architecture = "EuroBertModel",
       .fixed = {.both_ways = true},
       .decoder = {.kv_heads_as_heads = true, .rms_eps = 1e-5},
       .passed_over = beside_encoder},
  };
}

}  // namespace

std::vector<Family> encoder_families() { return joined({berts(), rotating()}); }

}  // namespace pando::model
