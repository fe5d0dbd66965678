"""The zoo by name: verifiers with a known bug planted on purpose (mutants), and unusual but right ones (controls).

What is known of each stands in catalogue.json. The functions are in the modules beside this one and are not imported
here: the catalogue needs no numpy.
"""

from pathlib import Path

import msgspec


class ZooEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A verifier of the plain calling convention, f(target_probs, draft_probs, draft_tokens[, rng]) -> tokens.

    name: M01.. for mutants, B01.. of batches, T01.. of trees; C01.. for controls, D01.. of trees.
    function: "module:name" in this package.
    title: what is wrong or unusual, in a few words.
    ancestor: the bug that a mutant descends from, or who does what a control does, in one line.
    link: to the ancestor.
    refutes: the claims that an audit must refute; none for a control.
    by_law: a function of the same law as "module:name", where its own random numbers cannot be followed.
    variants: names in the module of the same bug with other numbers, which verifiers are compared with too.
    """

    name: str
    function: str
    title: str
    ancestor: str
    link: str
    refutes: tuple[str, ...] = ("lossless",)
    by_law: str = ""
    variants: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """Return the function as an audit's subject, "package.module:name"."""
        return f"{__package__}.{self.function}"

    @property
    def measured(self) -> str:
        """Return the subject that gives its law."""
        return f"{__package__}.{self.by_law or self.function}"

    @property
    def forms(self) -> list["ZooEntry"]:
        """Return the entry, and each of its variants as an entry of the same name."""
        module, change = self.function.partition(":")[0], msgspec.structs.replace
        return [self, *(
            change(self, function=f"{module}:{one}", title=f"{self.title}: {one.replace('_', ' ')}", variants=())
            for one in self.variants
        )]  # fmt: skip


ZOO = {
    kind: {entry.name: entry for entry in entries}
    for kind, entries in msgspec.json.decode(
        Path(__file__).with_suffix(".json").read_bytes(), type=dict[str, tuple[ZooEntry, ...]]
    ).items()
}

MUTANTS, CONTROLS = ZOO["MUTANTS"], ZOO["CONTROLS"]
TREE_MUTANTS, TREE_CONTROLS = ZOO["TREE_MUTANTS"], ZOO["TREE_CONTROLS"]

BATCH_MUTANTS = ZOO["BATCH_MUTANTS"]
"""Verifiers of batches whose rows influence each other; alone, each row is verified rightly."""
