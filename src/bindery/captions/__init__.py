"""Which of two captions fits the image? Ties told, errors by image, and what can be had without looking.

Three public evaluations of this kind of benchmark break ties in different ways (`RULES`), so that the same
scores give different accuracies. Here a tie is worth one half, and the three rules stand beside it.

>>> from bindery.captions import Choice
>>> Choice([0.3, 0.2, 0.1], [0.1, 0.2, 0.3]).accuracy
0.5
"""

from bindery.captions.blind import bag_of_words, blind_table, order_only, shorter_caption, words
from bindery.captions.choice import RULES, Choice, fourfold
from bindery.captions.items import CaptionItems
from bindery.captions.readers import aro, sugar_crepe, winoground
from bindery.captions.scene_items import scene_items
from bindery.captions.scoring import Precision, pair_scores, score

__all__ = [
    "RULES",
    "CaptionItems",
    "Choice",
    "Precision",
    "aro",
    "bag_of_words",
    "blind_table",
    "fourfold",
    "order_only",
    "pair_scores",
    "scene_items",
    "score",
    "shorter_caption",
    "sugar_crepe",
    "winoground",
    "words",
]
