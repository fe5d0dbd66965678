"""transformers 5.23: a stop sequence that ends inside a block of assisted decoding does not end the text.

Known: https://github.com/huggingface/transformers/issues/48039. Without the draft model no text goes on behind 1, 2.
"""

import tempfile

from draftproof.models.forge import forge
from draftproof.reports.audits.engines.exact_texts import decoder_problem
from draftproof.verifiers.adapters.hf_generation import sample

with tempfile.TemporaryDirectory() as folder:
    pair = forge(decoder_problem(), folder + "/pair")
    for name, draft in (("without a draft", None), ("assisted", pair.draft)):
        texts = [*sample(pair.target, draft, pair.start, 3, 2, range(200), stop=[[1, 2]])]
        print(name, sum(text[:2] == [1, 2] and len(text) > 2 for text in texts), "of 200 texts go on behind 1, 2")
