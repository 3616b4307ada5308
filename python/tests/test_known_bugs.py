# SPDX-License-Identifier: Apache-2.0
"""Mistakes that public implementations of attention had, each written anew in a few lines from the
thread that reports it (docs/foreign.md), found by its claim; the mended form passes."""
import unittest

import numpy as np
import orthant


def softmax(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attend(q, k, v, mask=None):
    """mask: True where a key is visible."""
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]).astype(q.dtype)
    return softmax(s if mask is None else np.where(mask, s, -np.inf)) @ v


def lower(rows, columns):
    """The mask whose row 0 sees column 0."""
    return np.tril(np.ones((rows, columns), bool))


def mask_of(lengths, k):
    return None if lengths is None else (np.arange(k.shape[-2]) < lengths[:, None])[:, None, None]


class MaskOnlyWithMask:
    """facebookresearch/xformers #103: the causal mask is applied where a mask is given."""
    claims = ["causal"]

    def wrong(q, k, v, mask=None):
        return attend(q, k, v, None if mask is None else mask & lower(*mask.shape[-2:]))

    def mended(q, k, v):
        return attend(q, k, v, lower(q.shape[-2], k.shape[-2]))


class InvertedMask:
    """rasbt/LLMs-from-scratch #1062: a mask of the hidden keys where one of the visible is asked."""
    claims = ["causal"]

    def wrong(q, k, v):
        n = q.shape[-2]  # the last row would see nothing: it sees itself
        return attend(q, k, v, np.triu(np.ones((n, n), bool)))

    mended = MaskOnlyWithMask.mended


def features(x, w):
    x = x * x.dtype.type(x.shape[-1] ** -0.25)
    return x @ w.astype(x.dtype).T, (x ** 2).sum(-1, keepdims=True) / 2


def linear(q, k, v, inverse=True):
    outer = np.cumsum(k[..., :, None] * v[..., None, :], -3)
    out = (q[..., None, :] @ outer)[..., 0, :]
    total = (q * np.cumsum(k, -2)).sum(-1, keepdims=True)
    return out / total if inverse else out * total


W = np.random.default_rng(0).standard_normal((24, 8))


class MaximumOfAllKeys:
    """lucidrains/performer-pytorch #45: features of keys are stabilised by the maximum over all
    keys, and the small number added to them is not scaled with it: later keys change its weight."""
    claims = ["causal"]

    def positive(x, shift):
        d, square = features(x, W)
        return np.exp(d - square - shift(d)) + x.dtype.type(1e-4)

    def wrong(q, k, v):
        return linear(MaximumOfAllKeys.positive(q, lambda d: d.max(-1, keepdims=True)),
                      MaximumOfAllKeys.positive(k, lambda d: d.max((-1, -2), keepdims=True)), v)

    def mended(q, k, v):
        return linear(MaximumOfAllKeys.positive(q, lambda d: d.max(-1, keepdims=True)),
                      MaximumOfAllKeys.positive(k, lambda d: 0), v)


class SumNotInverted:
    """lucidrains/performer-pytorch #40: rows are multiplied by the sum of weights, not divided."""
    claims = ["average"]

    def wrong(q, k, v):
        return linear(np.exp(q / 2), np.exp(k / 2), v, inverse=False)

    def mended(q, k, v):
        return linear(np.exp(q / 2), np.exp(k / 2), v)


class MaskFromTheFirstKey:
    """pytorch/pytorch #115111, Dao-AILab/flash-attention #282: the causal mask of one query and
    many cached keys is aligned with the first key, which is all that the query sees."""
    claims = ["decoding"]

    def f(q, k, v):
        return MaskOnlyWithMask.mended(q, k, v)

    wrong = mended = f

    def wrong_step(q, k, v, state):
        k, v = (np.concatenate(p, -2) for p in zip(state, (k, v))) if state else (k, v)
        return attend(q, k, v, lower(q.shape[-2], k.shape[-2])), (k, v)

    def mended_step(q, k, v, state):
        k, v = (np.concatenate(p, -2) for p in zip(state, (k, v))) if state else (k, v)
        return attend(q, k, v), (k, v)


class PaddingWithoutMask:
    """facebookresearch/ParlAI #1649: keys of padding are zeros, which get a weight of their own."""
    claims = ["padding"]

    def wrong(q, k, v, lengths=None):
        seen = mask_of(lengths, k)
        k, v = (a if seen is None else a * seen.swapaxes(-1, -2) for a in (k, v))
        return attend(q, k, v)

    def mended(q, k, v, lengths=None):
        return attend(q, k, v, mask_of(lengths, k))


class BackwardWithoutMask:
    """Dao-AILab/flash-attention #2424: the mask of the forward pass is not given to backward."""
    claims = ["gradient"]

    def wrong(q, k, v):
        return MaskOnlyWithMask.mended(q, k, v)

    mended = wrong

    def backward(q, k, v, dy, mask):
        scale = q.shape[-1] ** -0.5
        p = softmax(np.where(mask, q @ k.swapaxes(-1, -2) * scale, -np.inf))
        dp = dy @ v.swapaxes(-1, -2)
        ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * scale
        return ds @ k, ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ dy

    def wrong_gradient(q, k, v, dy):
        return BackwardWithoutMask.backward(q, k, v, dy, True)

    def mended_gradient(q, k, v, dy):
        return BackwardWithoutMask.backward(q, k, v, dy, lower(q.shape[-2], k.shape[-2]))


BUGS = [MaskOnlyWithMask, InvertedMask, MaximumOfAllKeys, SumNotInverted, MaskFromTheFirstKey,
        PaddingWithoutMask, BackwardWithoutMask]


class KnownBugs(unittest.TestCase):
    def verify(self, bug, form):
        extra = {name: getattr(bug, form + "_" + name) for name in ("step", "gradient")
                 if hasattr(bug, form + "_" + name)}
        return orthant.verify_callable(getattr(bug, form), bug.claims, inputs="qkv", **extra)

    def test_each_is_found_by_its_claim(self):
        for bug in BUGS:
            with self.subTest(bug.__name__):
                proof = self.verify(bug, "wrong")
                self.assertEqual([c["claim"] for c in proof.failures], bug.claims, proof)
                self.assertIsNotNone(proof.failures[0]["bound"], proof)  # a difference, no error

    def test_the_mended_form_passes(self):
        for bug in BUGS:
            with self.subTest(bug.__name__):
                proof = self.verify(bug, "mended")
                self.assertTrue(proof, proof)


if __name__ == "__main__":
    unittest.main()
