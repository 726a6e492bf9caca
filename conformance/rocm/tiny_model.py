#!/usr/bin/env python3
"""Writes a language model of random weights in GGUF, to run llama.cpp on: two layers, an alphabet of bytes.

  tiny_model.py FILE f16|f32      (needs numpy and Debian 14's python3-gguf)
"""
import sys

import gguf
import numpy

WIDTH, HEADS, LAYERS, INNER, CONTEXT = 128, 4, 2, 256, 256
SPECIAL = [b"<unk>", b"<s>", b"</s>"]
TOKENS = SPECIAL + [f"<0x{byte:02X}>".encode() for byte in range(256)]


def describe(model):
    model.add_context_length(CONTEXT)
    model.add_embedding_length(WIDTH)
    model.add_block_count(LAYERS)
    model.add_feed_forward_length(INNER)
    model.add_head_count(HEADS)
    model.add_head_count_kv(HEADS)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_rope_dimension_count(WIDTH // HEADS)
    model.add_vocab_size(len(TOKENS))
    model.add_tokenizer_model("llama")
    model.add_token_list(TOKENS)
    model.add_token_scores([0.0] * len(TOKENS))
    model.add_token_types([gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.BYTE] * 256)
    model.add_bos_token_id(1)
    model.add_eos_token_id(2)
    model.add_unk_token_id(0)


def fill(model, kind):
    random = numpy.random.default_rng(7)

    def matrix(name, rows, columns, scale):
        model.add_tensor(name + ".weight", (random.standard_normal((rows, columns)) * scale).astype(kind))

    def ones(name):
        model.add_tensor(name + ".weight", numpy.ones(WIDTH, numpy.float32))

    matrix("token_embd", len(TOKENS), WIDTH, 1)
    ones("output_norm")
    matrix("output", len(TOKENS), WIDTH, 0.3)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        ones(block + "attn_norm")
        ones(block + "ffn_norm")
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            matrix(block + name, WIDTH, WIDTH, WIDTH**-0.5)
        matrix(block + "ffn_gate", INNER, WIDTH, WIDTH**-0.5)
        matrix(block + "ffn_up", INNER, WIDTH, WIDTH**-0.5)
        matrix(block + "ffn_down", WIDTH, INNER, INNER**-0.5)


def main(path, kind):
    model = gguf.GGUFWriter(path, "llama")
    describe(model)
    fill(model, {"f16": numpy.float16, "f32": numpy.float32}[kind])
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ("f16", "f32"):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
