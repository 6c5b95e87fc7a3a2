"""Facts promoted in decoding: a tiny random T5 and the equation, one token after the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from transformers import LogitsProcessorList, PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

from benchmarks.paper.decoding import FactPromoter
from scorer import Scorer
from tests.bundles import RESTAURANTS, tokenizer

FACTS = [{"subject": "Blue Spice", "predicate": "eatType", "object": "pub"},
         {"subject": "Blue Spice", "predicate": "food", "object": "Thai"}]  # fmt: skip
WEIGHT, CANDIDATES, STEPS = 3.0, 4, 5  # a large weight, so that the facts decide


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    with Scorer(RESTAURANTS, device="cpu") as opened:
        yield opened


@pytest.fixture(scope="module")
def words() -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer(), pad_token="<pad>", eos_token="</s>")


@pytest.fixture(scope="module")
def model(words: PreTrainedTokenizerFast) -> T5ForConditionalGeneration:
    torch.manual_seed(2)
    config = T5Config(vocab_size=len(words), d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2,
                      pad_token_id=words.pad_token_id, eos_token_id=words.eos_token_id,
                      decoder_start_token_id=words.pad_token_id)  # fmt: skip
    made = T5ForConditionalGeneration(config).eval()
    with torch.no_grad():
        for value in made.parameters():
            value.normal_(0.0, 0.5)
    return made


def by_hand(scorer: Scorer, words: PreTrainedTokenizerFast, ids: list[int], logits: torch.Tensor) -> dict[int, float]:
    """The score of each candidate after a prefix, by token."""

    def said(prefix: list[int]) -> np.ndarray:
        text = words.decode(prefix, skip_special_tokens=True)
        verdict = scorer.score([tuple(fact.values()) for fact in FACTS], text)
        return np.array(verdict.fact_entailment, np.float64) if verdict.note is None else np.zeros(len(FACTS))

    found, before = {}, said(ids)
    for token in logits.topk(CANDIDATES).indices.tolist():
        promoted = ((1 - before) * np.log(np.maximum(said([*ids, token]), 1e-9))).sum()
        found[token] = float(logits.log_softmax(-1)[token]) + WEIGHT * promoted
    return found


def test_every_token_is_that_of_the_equation(
    scorer: Scorer, words: PreTrainedTokenizerFast, model: T5ForConditionalGeneration
) -> None:
    given = torch.tensor([[5, 6, 7]])
    promoter = FactPromoter(scorer, words, [FACTS], weight=WEIGHT, candidates=CANDIDATES)
    generated = model.generate(
        given, logits_processor=LogitsProcessorList([promoter]), do_sample=False, num_beams=1, max_new_tokens=STEPS
    )
    ids, plain = [int(words.pad_token_id or 0)], []
    for _ in range(STEPS):
        with torch.inference_mode():
            logits = model(input_ids=given, decoder_input_ids=torch.tensor([ids])).logits[0, -1]
        scores = by_hand(scorer, words, ids, logits)
        assert promoter(torch.tensor([ids]), logits[None])[0].isfinite().nonzero().flatten().tolist() == sorted(scores)
        plain.append(int(logits.argmax()))
        ids.append(max(scores, key=lambda token: scores[token]))
        if ids[-1] == words.eos_token_id:
            break
    assert generated[0].tolist()[: len(ids)] == ids
    assert ids[1:] != plain, "the facts change the choice"


def test_beams_have_the_facts_of_their_input(scorer: Scorer, words: PreTrainedTokenizerFast) -> None:
    """Two inputs with two beams each; without a weight, the scores are the model's among the candidates."""
    logits = torch.randn(4, len(words), generator=torch.Generator().manual_seed(1))
    ids, facts = torch.tensor([[0, 5], [0, 6], [0, 7], [0, 8]]), [FACTS, FACTS[:1]]
    unweighted = FactPromoter(scorer, words, facts, weight=0.0, candidates=CANDIDATES)(ids, logits)
    there = unweighted.isfinite()
    assert there.sum(dim=-1).tolist() == [CANDIDATES] * 4
    assert torch.equal(unweighted[there], logits.log_softmax(-1)[there])
    both = FactPromoter(scorer, words, facts, candidates=CANDIDATES)(ids, logits)
    for row in range(4):
        alone = FactPromoter(scorer, words, [facts[row // 2]], candidates=CANDIDATES)(ids[[row]], logits[[row]])
        assert torch.allclose(both[row][there[row]], alone[0][there[row]], atol=1e-4)
    assert torch.equal(FactPromoter(scorer, words, facts, start=3)(ids, logits), logits.log_softmax(-1))
