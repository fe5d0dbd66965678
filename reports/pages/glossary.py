"""The field's glossary, a sentence for each word, and the links of a page to it."""

from functools import cache
from pathlib import Path

from markupsafe import Markup

from ...models.json_files import read_file
from ...verifiers.claims import CLAIMS


@cache
def _words() -> dict[str, str]:
    return read_file(dict[str, str], Path(__file__).with_name("glossary.json"))


def glossary() -> dict[str, str]:
    """Return every word with its sentence: those of glossary.json, and claims."""
    return _words() | {claim_term(name): claim.glossary for name, claim in CLAIMS.items()}


def claim_term(claim: str) -> str:
    """Return the word under which a claim stands: its name, marked if it is a word of everyday use."""
    return f"{claim} (claim)" if CLAIMS[claim].everyday else claim


class Links:
    """The links of one page to the words that it explains at its end."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def term(self, word: str, text: str | None = None) -> Markup:
        """Return the word as a link to its sentence. Raises: KeyError for a word that the glossary does not have."""
        glossary()[word]
        self.used.add(word)
        return Markup('<a class="term" href="#{}">{}</a>').format(_anchor(word), text or word)

    def known(self, word: str, text: str | None = None) -> Markup:
        """Return the word as a link, or the word alone if the glossary does not have it."""
        return self.term(word, text) if word in glossary() else Markup("{}").format(text or word)

    def claim(self, claim: str) -> Markup:
        """Return the name of a claim as a link."""
        return self.known(claim_term(claim) if claim in CLAIMS else claim, claim)

    def glossary(self) -> Markup:
        """Return the sentences of the words used so far, in alphabetical order."""
        entry = Markup('<dt id="{}">{}</dt><dd>{}</dd>')
        words, sentences = sorted(self.used, key=str.lower), glossary()
        return Markup("\n").join(entry.format(_anchor(word), word, sentences[word]) for word in words)


def _anchor(word: str) -> str:
    return "term-" + word.translate({ord(" "): "-", ord("("): None, ord(")"): None})
