"""Verification: that two tokenizers give the same ids, document by document, and that an export does.

Each is asked through its own encoder (`peers`), so that the other library itself is what is put to the test.
It costs what encoding costs with the slower of the two, which is the other library. At the first difference
it stops and says why (`parting`).

Documents are compared as ordinary text: a special token in them is text to both. A Hugging Face tokenizer
takes it as special, and is asked as it is. With one of them, its special tokens are special for both sides.
"""

from merganser.verification.exports import Pretokens, verify_export
from merganser.verification.parting import Difference, Segmentation
from merganser.verification.run import Verification, verify

__all__ = ["Difference", "Pretokens", "Segmentation", "Verification", "verify", "verify_export"]
