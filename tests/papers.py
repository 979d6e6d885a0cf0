"What the tests of the reproductions share."
from types import SimpleNamespace

from cost_eval import reproduce


def ran(name):
    "What an item's function gives, with its figure drawn, whether or not its data are at hand."
    item = reproduce.ITEMS[name]
    done = item.function()
    done = done if isinstance(done, reproduce.Reproduction) else reproduce.Reproduction(done)
    figure = done.figure() if callable(done.figure) else done.figure
    return SimpleNamespace(table=reproduce.beside_published(item, done), figure=figure, note=done.note)
