"""One word in several phrases, on its way through the layers of a model."""

from attn.figures.base import Explorable, Place, Shaped, Words


class SenseExplorer(Explorable):
    """Where the vector of one word points, among senses, after each layer: a dot for each phrase.

    Parameters
    ----------
    recorded : list of dict
        For each phrase its `text`, its `sense`, and by sense the `cosines from own mean, by layer`.
    layer : int
        The layer that is shown; 0 is the embedding.
    """

    phrases = Words("n")
    senses = Words("3")
    meant = Words("n")
    cosines = Shaped("n n_layers 3")
    layer = Place("n_layers")

    def __init__(self, recorded, **kwargs):
        found = [one["cosines from own mean, by layer"] for one in recorded]
        cosines = [list(zip(*by_sense.values())) for by_sense in found]
        phrases, meant = zip(*((one["text"], one["sense"]) for one in recorded))
        super().__init__(list(phrases), list(found[0]), list(meant), cosines, **kwargs)

    @property
    def nearest(self):
        """For each phrase the sense that its vector is closest to: list of str."""
        return [self.senses[max(range(3), key=rows[self.layer].__getitem__)] for rows in self.cosines]

    def describe(self):
        told = ", ".join(f"{phrase}: {sense}" for phrase, sense in zip(self.phrases, self.nearest))
        return f"Senses, layer {self.layer}: {told}"
