"""The cards: complete, true to the networks they name, and honest about what was fine-tuned."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from bindery.encoders import Card, all_architectures, card, cards, load_card, suite
from bindery.encoders.build import build, image_side
from bindery.encoders.card import parse_cards
from bindery.errors import BinderyError, InputError

# Networks small enough to run here; the others are built on the meta device.
SMALL_M = 30.0


def measured(card: Card) -> tuple[int, float]:
    """Embedding length and parameters of the image side in millions, without memory."""
    module = image_side(build(card, device="meta"), card)
    with torch.device("meta"):
        rows = module(torch.zeros(2, 3, card.input_size, card.input_size))
    assert rows.shape[0] == 2 and rows.ndim == 2
    return rows.shape[1], sum(p.numel() for p in module.parameters()) / 1e6


@pytest.mark.parametrize("representative", all_architectures(), ids=lambda card: card.name)
def test_architecture_has_the_size_its_cards_state(representative: Card) -> None:
    dim, parameters = measured(representative)
    for other in cards().values():
        if (other.architecture, other.feature) == (representative.architecture, representative.feature):
            assert other.dim == dim
            assert other.parameters_m == pytest.approx(parameters, abs=0.06)


@pytest.mark.parametrize(
    "small", [c for c in all_architectures() if c.parameters_m < SMALL_M], ids=lambda c: c.name
)
def test_small_architectures_run_at_random_init(small: Card) -> None:
    encoder = load_card(small, weights="random")
    assert encoder.module(torch.zeros(1, 3, small.input_size, small.input_size)).shape == (1, small.dim)
    assert not encoder.module.training
    assert not any(p.requires_grad for p in encoder.module.parameters())


def test_architectures_are_distinct_and_smallest_first() -> None:
    found = all_architectures()
    assert [c.parameters_m for c in found] == sorted(c.parameters_m for c in found)
    assert {c.architecture for c in found} == {c.architecture for c in cards().values()}
    assert len(found) == len({(c.architecture, c.feature) for c in found})


def test_reconstructed_suite_of_26() -> None:
    members = suite("paper-s")
    assert len(members) == 26
    assert Counter(c.family for c in members) == {
        "variance-decorrelation": 3,
        "masked": 2,
        "masked-finetuned": 3,
        "clustering": 1,
        "self-distillation": 5,
        "contrastive": 2,
        "vision-language": 6,
        "supervised": 4,
    }


def test_fine_tuned_beit_says_so_and_is_not_masked() -> None:
    beit = [c for c in cards().values() if "beit" in c.name]
    assert len(beit) == 3
    for c in beit:
        assert c.family == "masked-finetuned"
        assert "FINE-TUNED" in c.objective and "not a purely masked" in c.note


def test_every_card_is_complete() -> None:
    for c in cards().values():
        assert c.dim and c.parameters_m and c.objective and c.activation and c.pooling and c.suite
        assert c.licence != "unknown"
        assert c.weights is not None
        assert not c.weights.url or c.weights.url.startswith("https://")
        assert c.text == (c.family == "vision-language")
        if c.loader == "open_clip":
            assert c.weights.tag


def test_papers_backbones_are_there() -> None:
    assert {c.name for c in suite("paper-g")} == {"clip-vit-l14", "clip-rn50", "siglip-so400m14"}
    assert card("siglip-so400m14").dim == 1152


def test_unknown_suite_names_the_known() -> None:
    with pytest.raises(InputError, match="offline, paper-g, paper-s"):
        suite("paper-x")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[a", "not valid TOML"),
        ('[a]\nfamily = "unheard"', "card 'a', family"),
        (
            '[a]\nfamily="other"\nloader="timm"\narchitecture="x"\nfeature="cls"\ncolour=1',
            "card 'a', colour: Extra inputs",
        ),
        (
            '[a]\nfamily="other"\nloader="timm"\narchitecture="x"\nfeature="cls"\nweights={hub="a", url="b"}',
            "exactly one of package, hub, url",
        ),
    ],
)
def test_faulty_cards_are_told_by_name_and_field(text: str, told: str) -> None:
    with pytest.raises(BinderyError, match=told):
        parse_cards(text, "faulty.toml")
