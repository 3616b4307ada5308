# SPDX-License-Identifier: Apache-2.0
"""Attentions in small models of transformers, against its own."""
import copy
import tempfile
import unittest

try:
    import safetensors.torch
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

    def test_states_generate_what_keys_do(self):
        ids = torch.arange(3 * 6).reshape(3, 6)
        mask = torch.tensor([[1] * 6, [0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 1]])
        for spec in ("linear", "softmax", "local(window=3)", "performer",
                     "linear(map=hedgehog)"):
            model = make("llama", torch.float64, "sdpa", 3)
            orthant.transformers.attach(model, spec)
            for beams in (1, 3):
                keys, states = (model.generate(
                    ids, attention_mask=mask, max_new_tokens=9, pad_token_id=0, do_sample=False,
                    num_beams=beams, past_key_values=cache, output_logits=True,
                    return_dict_in_generate=True)
                    for cache in (None, orthant.transformers.StateCache()))
                self.assertTrue(torch.equal(keys.sequences, states.sequences))
                for a, b in zip(states.logits, keys.logits):
                    self.assertLess(largest(a, b), 1e-11)

    def test_a_state_cache_refuses_what_it_cannot_do(self):
        model, ids = make("llama", torch.float64, "sdpa"), torch.arange(2 * 4).reshape(2, 4)
        cache = orthant.transformers.StateCache()
        with torch.no_grad(), self.assertRaisesRegex(orthant.Error, "attentions of Orthant"):
            for _ in range(2):
                model(ids, **{CACHE: cache})
        model.set_attn_implementation(orthant.transformers.register("linear"))
        with self.assertRaisesRegex(orthant.Error, "torch.no_grad"):
            model(ids, **{CACHE: orthant.transformers.StateCache()})
        mask = torch.tensor([[1] * 4, [1, 1, 0, 0]])
        with torch.no_grad(), self.assertRaisesRegex(orthant.Error, "padding at the end"):
            model(ids, attention_mask=mask, **{CACHE: orthant.transformers.StateCache()})
        cache = orthant.transformers.StateCache()
        with torch.no_grad():
            model(ids, **{CACHE: cache})
        with self.assertRaisesRegex(orthant.Error, "cannot forget"):
            cache.crop(-1)

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

    def test_cross_attention_over_as_many_keys_as_queries(self):
        """Padding is of the keys alone, also where their number is by chance that of the queries."""
        class CrossAttention(torch.nn.Module):
            is_causal = False

        class OfADecoder(torch.nn.Module):
            is_causal, is_decoder = False, True

        from orthant.transformers import _forward
        q, k, v = torch.randn(3, 2, 4, 5, 8, dtype=torch.float64)
        mask = (torch.arange(5) < torch.tensor([3, 5])[:, None])[:, None, None].expand(2, 1, 5, 5)
        e = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        for module in (CrossAttention(), OfADecoder()):
            o, _ = _forward("softmax", 0, 1, 1, module, q, k, v, mask)
            self.assertLess(largest(o.transpose(1, 2), e), 1e-12)

    def test_what_is_no_attention_is_not_registered(self):
        with self.assertRaisesRegex(orthant.Error, 'unexpected "sofmax"'):
            orthant.transformers.register("sofmax")

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

    def test_trained_parameters_are_those_of_the_model(self):
        ids = torch.arange(2 * 8).reshape(2, 8)
        mask = torch.tensor([[1] * 8, [0, 0, 0, 1, 1, 1, 1, 1]])
        for spec, name in (("softmax(normalise=sink)", "sink.logit"),
                           ("linear(map=hedgehog, temperature)", "query.temperature"),
                           ("softmax(qknorm=rms)", "query.norm.weight")):
            model = make("llama", torch.float64, "sdpa").train()
            count = len([*model.parameters()])
            attached = orthant.transformers.attach(model, spec)
            self.assertTrue(model.training)
            self.assertEqual(model.config._attn_implementation, attached)
            for key, value in model.named_parameters():
                if ".orthant." in key:  # initial values of heads are the same
                    value.data.add_(torch.linspace(0, 0.2, value.numel()).reshape(value.shape))
                elif ".self_attn." in key:
                    value.data.mul_(20)
            own = dict(model.model.layers[1].self_attn.orthant.named_parameters())
            self.assertIn(name, own)
            self.assertEqual(len([*model.parameters()]), count + 2 * len(own))

            def loss():
                return model(ids, attention_mask=mask).logits[mask == 1].sin().sum()
            model.zero_grad()
            loss().backward()
            for weight in own.values():
                with torch.no_grad():
                    place = weight.view(-1)
                    place[-1] += 1e-2
                    above = loss()
                    place[-1] -= 2e-2
                    slope = float((above - loss()) / 2e-2)
                    place[-1] += 1e-2
                self.assertGreater(abs(slope), 5e-3)
                self.assertAlmostEqual(float(weight.grad.view(-1)[-1]), slope,
                                       delta=1e-4)  # norms of Llama round to float32

    def test_trained_parameters_are_saved_and_loaded(self):
        spec, ids = "linear(map=hedgehog)", torch.arange(2 * 6).reshape(2, 6)
        model = make("llama", torch.float32, "sdpa", 3)
        orthant.transformers.attach(model, spec)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        model(ids, labels=ids).loss.backward()
        before = {k: v.clone() for k, v in model.state_dict().items()}
        optimizer.step()
        self.assertTrue(all(not torch.equal(v, before[k]) for k, v in model.state_dict().items()
                            if ".orthant." in k))
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            loaded = transformers.LlamaForCausalLM.from_pretrained(folder)
            orthant.transformers.attach(loaded, spec)
            file = safetensors.torch.load_file(folder + "/model.safetensors")
            loaded.load_state_dict(file, strict=False)
        self.assertTrue(torch.equal(loaded(ids).logits, model.eval()(ids).logits))
        tokens = [m.generate(ids, max_new_tokens=6, do_sample=False, pad_token_id=0)
                  for m in (loaded, model, copy.deepcopy(model))]
        self.assertTrue(torch.equal(tokens[0], tokens[1]) and torch.equal(tokens[1], tokens[2]))
        whole = model(tokens[1][:, :-1]).logits[:, 5:].argmax(-1)
        self.assertTrue(torch.equal(whole, tokens[1][:, 6:]))
        model.set_attn_implementation(orthant.transformers.register("softmax"))
        model(ids)  # the parameters stay, and are not those of this attention
        orthant.transformers.attach(model, "softmax")
        self.assertFalse([k for k in model.state_dict() if ".orthant." in k])

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
