"""The Qwen3 architecture for training: documents with branches.

Parameters are named as in Hugging Face's Qwen3ForCausalLM. A batch holds documents and, for each,
rows of packed questions. A question's tokens see the document and their own question (a tree of
depth two): scores over the document and over the row are computed apart and share one softmax.
"""
import dataclasses

import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass
class Shape:
    vocab: int = 512
    d_model: int = 128
    d_ff: int = 384
    n_layers: int = 4
    n_heads: int = 4
    n_kv_heads: int = 2
    head_dim: int = 32
    rope_theta: float = 1e4
    eps: float = 1e-6


@dataclasses.dataclass
class Tree:
    """Where tokens are and what they see. B documents of D tokens, R rows of T tokens each."""
    positions: torch.Tensor   # [B, D + R * T] i64
    doc_bias: torch.Tensor    # [B, 1, 1, 1, D] f32: 0, or -inf at padding
    row_bias: torch.Tensor    # [B, R, 1, T, T] f32: 0 where the key is an earlier token of the same question
    doc_len: int              # D


class RmsNorm(nn.Module):
    def __init__(self, n, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(n)), eps

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight.to(x.dtype), self.eps)


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        width, kv_width = shape.n_heads * shape.head_dim, shape.n_kv_heads * shape.head_dim
        self.q_proj = nn.Linear(shape.d_model, width, bias=False)
        self.k_proj = nn.Linear(shape.d_model, kv_width, bias=False)
        self.v_proj = nn.Linear(shape.d_model, kv_width, bias=False)
        self.o_proj = nn.Linear(width, shape.d_model, bias=False)
        self.q_norm = RmsNorm(shape.head_dim, shape.eps)
        self.k_norm = RmsNorm(shape.head_dim, shape.eps)

    def forward(self, x, cos, sin, tree):
        s, (B, N, _) = self.shape, x.shape
        D = tree.doc_len
        q = self.q_norm(self.q_proj(x).view(B, N, s.n_heads, s.head_dim)).transpose(1, 2)
        k = self.k_norm(self.k_proj(x).view(B, N, s.n_kv_heads, s.head_dim)).transpose(1, 2)
        v = self.v_proj(x).view(B, N, s.n_kv_heads, s.head_dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        document = F.scaled_dot_product_attention(q[:, :, :D], k[:, :, :D], v[:, :, :D], is_causal=True,
                                                  enable_gqa=True)
        branches = self._branches(q[:, :, D:], k, v, tree)
        out = torch.cat([document, branches], 2).transpose(1, 2).reshape(B, N, s.n_heads * s.head_dim)
        return self.o_proj(out)

    def _branches(self, q, k, v, tree):
        """q [B, n_heads, R * T, head_dim], k and v [B, n_kv_heads, D + R * T, head_dim]"""
        B, H, N, d = q.shape
        R, T, D, KV = tree.row_bias.shape[1], tree.row_bias.shape[-1], tree.doc_len, k.shape[1]
        G = H // KV
        q = q * d ** -0.5
        doc_scores = torch.matmul(q.reshape(B, KV, G * N, d), k[:, :, :D].transpose(-1, -2))
        doc_scores = doc_scores.view(B, KV, G, N, D) + tree.doc_bias
        # rows: [B, KV, R, G * T, d]
        q_rows = q.reshape(B, KV, G, R, T, d).transpose(2, 3).reshape(B, KV, R, G * T, d)
        k_rows, v_rows = (x[:, :, D:].reshape(B, KV, R, T, d) for x in (k, v))
        row_scores = torch.matmul(q_rows, k_rows.transpose(-1, -2)).view(B, KV, R, G, T, T)
        row_scores = row_scores + tree.row_bias[:, None]
        row_scores = row_scores.transpose(2, 3).reshape(B, KV, G, N, T)
        weights = torch.cat([doc_scores, row_scores], -1).softmax(-1)
        doc_weights, row_weights = weights[..., :D], weights[..., D:]
        out = torch.matmul(doc_weights.reshape(B, KV, G * N, D), v[:, :, :D]).view(B, KV, G, N, d)
        row_weights = row_weights.reshape(B, KV, G, R, T, T).transpose(2, 3).reshape(B, KV, R, G * T, T)
        own = torch.matmul(row_weights, v_rows).view(B, KV, R, G, T, d).transpose(2, 3)
        return (out + own.reshape(B, KV, G, N, d)).reshape(B, H, N, d)


class Mlp(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.gate_proj = nn.Linear(shape.d_model, shape.d_ff, bias=False)
        self.up_proj = nn.Linear(shape.d_model, shape.d_ff, bias=False)
        self.down_proj = nn.Linear(shape.d_ff, shape.d_model, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.input_layernorm = RmsNorm(shape.d_model, shape.eps)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = RmsNorm(shape.d_model, shape.eps)
        self.mlp = Mlp(shape)

    def forward(self, x, cos, sin, tree):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, tree)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocab, shape.d_model)
        self.layers = nn.ModuleList([Layer(shape) for _ in range(shape.n_layers)])
        self.norm = RmsNorm(shape.d_model, shape.eps)


class Qwen3(nn.Module):
    def __init__(self, shape, seed=1):
        super().__init__()
        self.shape, self.model = shape, Decoder(shape)
        self._initialise(self, seed)
        self.model.norm.weight.data.fill_(0.2)

    def grow(self, n_layers, seed=1):
        """Appends layers that change nothing yet. Returns their parameters."""
        added = [Layer(self.shape) for _ in range(n_layers - len(self.model.layers))]
        for layer in added:
            self._initialise(layer, seed + 1)
            layer.self_attn.o_proj.weight.data.zero_()
            layer.mlp.down_proj.weight.data.zero_()
        self.model.layers.extend(added)
        return [p for layer in added for p in layer.parameters()]

    def _initialise(self, module, seed):
        """Large embeddings, a small final norm and sharp attention: without them copying does not emerge."""
        s, generator = self.shape, torch.Generator().manual_seed(seed)
        for name, p in module.named_parameters():
            if "embed" in name:
                p.data.normal_(0, 0.4, generator=generator)
            elif p.dim() == 2:
                scale = (2 * s.n_layers) ** -0.5 if "o_proj" in name or "down_proj" in name else 1.0
                p.data.normal_(0, scale * p.shape[1] ** -0.5, generator=generator)
            elif "q_norm" in name or "k_norm" in name:
                p.data.fill_(1.5)

    def forward(self, tokens, tree, wanted):
        """Logits [n_wanted, vocab] after the tokens ([B, D + R * T]) at the flat indices `wanted`."""
        s = self.shape
        x = self.model.embed_tokens(tokens)
        inverse = s.rope_theta ** (-torch.arange(0, s.head_dim, 2).float() / s.head_dim)
        angles = (tree.positions[..., None].float() * inverse)[:, None].repeat(1, 1, 1, 2)
        cos, sin = angles.cos(), angles.sin()
        for layer in self.model.layers:
            x = layer(x, cos, sin, tree)
        x = self.model.norm(x.flatten(0, 1)[wanted])
        return F.linear(x, self.model.embed_tokens.weight)
