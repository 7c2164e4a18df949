"""Verify that two tokenizers, or a tokenizer and its export, produce the same ids for every document.

Each side encodes with its own library (`peers`), so that the other library itself is tested. The cost is that
of encoding with the slower of the two, which is the other library. Verification stops at the first difference
and explains it (`differences`).

Special tokens in a document are ordinary text to both sides. Hugging Face tokenizers always encode them as
special; if one side is a Hugging Face tokenizer, its special tokens are special for both sides.
"""

from merganser.verification.differences import Difference, Segmentation
from merganser.verification.exports import Pretokens, verify_export
from merganser.verification.verifying import Verification, verify

__all__ = ["Difference", "Pretokens", "Segmentation", "Verification", "verify", "verify_export"]
