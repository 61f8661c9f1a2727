"""What the vector of a sentence keeps, beside a plain average of embeddings."""

from recordings._arithmetic import cosine, plain

from .model import SENTENCES, read


def similarity(model):
    """Return the cosine of the two sentences of each pair, by kind: MiniLM's, the mean of its tokens in the last layer,
    and that of the mean of the embeddings of the words."""
    return {
        kind: [
            {
                "sentences": two,
                "MiniLM": plain(cosine(*(one.streams[-1].mean(axis=0) for one in read(model, two)))),
                "average of embeddings": plain(cosine(*(average(model, one) for one in read(model, two)))),
            }
            for two in pairs
        ]
        for kind, pairs in SENTENCES["similarity"].items()
    }


def average(model, seen):
    return model.params["embedding"][seen.text.ids[1:-1]].mean(axis=0)
