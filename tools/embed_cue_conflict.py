"""Embeds the cue-conflict images with the offline encoders and writes them to ``results/embeddings``.

    python tools/embed_cue_conflict.py [ENCODER ...]

Needs the images (``bindery.data.download("cue-conflict")``, or the folder that its error names). About a minute
an encoder on two cores. The images are not shipped (CC-BY-4.0, Geirhos et al. 2019); what is computed from them
is, with credit.
"""

from __future__ import annotations

import sys

from bindery import committed
from bindery.data import load as load_images
from bindery.data.cue_conflict import cue_conflict_labels, names_sha256
from bindery.encoders import embed, load
from bindery.provenance import commit

ENCODERS = ("efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2")


def main(names: list[str]) -> None:
    """Embed and write, one file an encoder."""
    images = load_images("cue-conflict")
    listed = cue_conflict_labels()
    place = {ids: i for i, ids in enumerate(images.sources.itertuples(index=False, name=None))}
    order = [place[ids] for ids in listed.sources.itertuples(index=False, name=None)]
    for name in names or ENCODERS:
        encoder = load(name)
        path = committed.path_of("cue-conflict", name)
        about = {
            "data": "cue-conflict",
            "encoder": name,
            "weights_sha256": encoder.weights_sha256,
            "names_sha256": names_sha256(),
            "credit": images.credit,
            "commit": commit(),
        }
        committed.write(path, embed(encoder, images.subset(order).images), about)
        print(path.name)


if __name__ == "__main__":
    main(sys.argv[1:])
