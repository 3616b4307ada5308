# SPDX-License-Identifier: Apache-2.0
"""Attentions in small models of transformers, against its own."""
import unittest

try:
    import torch
    import transformers

    import orthant.torch
    import orthant.transformers
except ImportError as exception:
    raise unittest.SkipTest("needs PyTorch and transformers: %s" % exception) from None

import orthant

CACHE = "past_key_values"
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
COMMON = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
              num_attention_heads=4, max_position_embeddings=64)


def make(kind, dtype, implementation, seed=0):
    torch.manual_seed(seed)
    if kind == "bert":
        config = transformers.BertConfig(**COMMON, attention_probs_dropout_prob=0,
                                         hidden_dropout_prob=0)
        model = transformers.BertModel
    else:
        config = dict(llama=transformers.LlamaConfig, qwen2=transformers.Qwen2Config)[kind](
            **COMMON, num_key_value_heads=2)
        model = dict(llama=transformers.LlamaForCausalLM,
                     qwen2=transformers.Qwen2ForCausalLM)[kind]
    config._attn_implementation = implementation
    return model(config).to(dtype)


def largest(a, b):
    return float(((a - b).abs().max() / b.abs().max()).detach())


class TestModels(unittest.TestCase):
    def compare(self, kind, dtype, reference, left):
        """Outputs and gradients of all real tokens. left: padding at the begin, or at the end."""
        ids = torch.arange(3 * 9).reshape(3, 9) % 64
        mask = torch.ones(3, 9, dtype=torch.int64)
        if left is not None:
            mask[1, slice(0, 4) if left else slice(5, 9)] = 0
        results = []
        for name in (reference, orthant.transformers.register("softmax")):
            model = make(kind, dtype, name)
            out = model(ids, attention_mask=mask)[0]
            loss = (out * torch.cos(torch.arange(out.shape[-1], dtype=dtype)))[mask == 1].sum()
            loss.backward()
            results.append([out[mask == 1].detach(), *[p.grad for p in model.parameters()
                                                      if p.grad is not None]])
        for a, b in zip(*results[::-1]):
            # Gradients of key biases are 0: what is compared with rounding is the largest of all.
            size = max(float(b.abs().max()), 1e-3)
            self.assertLess(float((a - b).abs().max()) / size, TOLERANCE[dtype] * 20)
        self.assertLess(largest(results[1][0], results[0][0]), TOLERANCE[dtype])

    def test_softmax_is_that_of_transformers(self):
        """The eager attention rounds weights to float32 in float64 models too."""
        for reference, dtype in (("eager", torch.float32), ("sdpa", torch.float64)):
            for kind in ("llama", "qwen2", "bert"):
                for left in (None, False, True):
                    with self.subTest(kind=kind, dtype=dtype, left=left):
                        self.compare(kind, dtype, reference, left)

    def test_steps_with_a_cache_are_the_whole(self):
        for spec in ("softmax", "local(window=3)", "linear", "cosformer", "performer"):
            with self.subTest(spec=spec), torch.no_grad():
                model = make("llama", torch.float64, orthant.transformers.register(spec))
                ids = torch.arange(2 * 8).reshape(2, 8)
                whole = model(ids).logits
                out = model(ids[:, :3], use_cache=True)
                rows = [out.logits]
                for t in range(3, 8):
                    out = model(ids[:, t:t + 1], **{CACHE: out[CACHE]})
                    rows.append(out.logits)
                self.assertLess(largest(torch.cat(rows, 1), whole), 1e-12)

    def test_generate_with_padding_is_that_of_sdpa(self):
        ids = torch.arange(2 * 6).reshape(2, 6)
        mask = torch.tensor([[1] * 6, [0, 0, 0, 1, 1, 1]])
        tokens = [make("llama", torch.float64, name, 3).generate(
            ids, attention_mask=mask, max_new_tokens=8, do_sample=False, pad_token_id=0)
            for name in ("sdpa", orthant.transformers.register("softmax"))]
        self.assertTrue(torch.equal(*tokens))

    def test_a_static_cache_has_room_behind_its_keys(self):
        """With room for the prompt twice, and with padding of either kind."""
        ids = torch.arange(2 * 6).reshape(2, 6)
        for mask in ([[1] * 6] * 2, [[1] * 6, [0, 0, 0, 1, 1, 1]]):
            tokens = [make("llama", torch.float64, name, 3).generate(
                ids, attention_mask=torch.tensor(mask), max_new_tokens=12, do_sample=False,
                pad_token_id=0, cache_implementation="static")
                for name in ("sdpa", orthant.transformers.register("softmax"))]
            self.assertTrue(torch.equal(*tokens))
        model = make("llama", torch.float64, "sdpa", 3)
        ends = torch.tensor([[1] * 6, [1, 1, 1, 0, 0, 0]])
        logits = []
        for name in ("sdpa", orthant.transformers.register("softmax")):
            model.set_attn_implementation(name)
            cache = transformers.StaticCache(config=model.config, max_cache_len=20)
            try:
                logits.append(model(ids, attention_mask=ends, **{CACHE: cache}).logits[ends == 1])
            except orthant.Error:
                self.assertNotEqual(name, "sdpa")  # refused is right, too
                return
        self.assertLess(largest(logits[1], logits[0]), 1e-12)

    def test_names_have_their_seeds_and_contexts(self):
        first = orthant.transformers.register("performer", seed=3)
        model, ids = make("llama", torch.float64, first), torch.arange(8)[None]
        before = model(ids).logits
        self.assertNotEqual(first, orthant.transformers.register("performer", seed=4))
        self.assertTrue(torch.equal(model(ids).logits, before))
        model.set_attn_implementation(orthant.transformers.register("performer", seed=4))
        self.assertGreater(largest(model(ids).logits, before), 1e-6)
        self.assertNotEqual(orthant.transformers.register("cosformer", context=16),
                            orthant.transformers.register("cosformer", context=64))

    def test_softcap_of_the_model(self):
        torch.manual_seed(0)
        config = transformers.Gemma2Config(**COMMON, num_key_value_heads=2, head_dim=8,
                                           attn_logit_softcapping=0.05, query_pre_attn_scalar=1,
                                           layer_types=["full_attention"] * 2)
        config._attn_implementation = "eager"
        model = transformers.Gemma2ForCausalLM(config)
        ids = torch.arange(9)[None]
        expected = model(ids).logits
        model.set_attn_implementation(orthant.transformers.register("softmax"))
        self.assertLess(largest(model(ids).logits, expected), 1e-5)

    def test_local_is_a_window_of_the_model(self):
        torch.manual_seed(0)
        config = transformers.MistralConfig(**COMMON, num_key_value_heads=2, sliding_window=3)
        config._attn_implementation = "sdpa"
        model = transformers.MistralForCausalLM(config).double()
        ids = torch.arange(9)[None]
        expected = model(ids).logits
        model.config.sliding_window = None
        model.set_attn_implementation(orthant.transformers.register("local(window=3)"))
        self.assertLess(largest(model(ids).logits, expected), 1e-12)
        model.config.sliding_window = 3
        with self.assertRaisesRegex(orthant.Error, "neither causal nor"):
            model(ids)

    def test_a_missing_mask_is_refused(self):
        name = orthant.transformers.register("softmax")
        model = make("llama", torch.float32, "eager")
        layer, q = model.model.layers[0].self_attn, torch.zeros(1, 4, 5, 8)
        function = transformers.AttentionInterface()[name]
        with self.assertRaisesRegex(orthant.Error, "LlamaAttention is causal"):
            function(layer, q, q, q, None)
        with self.assertRaisesRegex(orthant.Error, "attention_dropout"):
            function(layer, q, q, q, None, dropout=0.1)
        for name in ("s_aux", "position_bias", "head_mask"):
            with self.assertRaisesRegex(orthant.Error, name):
                function(layer, q, q, q, None, **{name: q})
        with self.assertRaisesRegex(orthant.Error, "trained parameters"):
            orthant.transformers.register("softmax(normalise=sink)")
            make("llama", torch.float32, "orthant:softmax(normalise=sink)")(torch.zeros(1, 3).long())


if __name__ == "__main__":
    unittest.main()
