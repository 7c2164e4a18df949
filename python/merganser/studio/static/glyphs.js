// Visible forms of characters, by the rules of merganser/tokenizer/glyphs.py: no character is invisible or active.

const GLYPHS = new Map([[" ", "·"], ["\t", "⇥"], ["\n", "⏎"], ["\u00a0", "⍽"], ["\x7f", "␡"]]);
const JOINER = "\u200d";
const PLAIN = /^[!-~]*$/;
const UNPRINTABLE = /[\p{C}\p{Z}]/u;
const MARK = /^\p{M}/u;
const FLAG = /[\u{1f1e6}-\u{1f1ff}]/u;
const SKIN = /[\u{1f3fb}-\u{1f3ff}]/u;

/** Replaces white space and control characters by glyphs; with `spaces` false, a space stays a space. */
export function visible(text, spaces = true) {
  if (PLAIN.test(text)) return text;
  const characters = [...text];
  let shown = "";
  characters.forEach((character, index) => { shown += glyph(character, index, characters, spaces); });
  return shown;
}

function glyph(character, index, all, spaces) {
  if (!spaces && character === " ") return " ";
  if (GLYPHS.has(character)) return GLYPHS.get(character);
  if (character < " ") return String.fromCodePoint(0x2400 + character.codePointAt(0));
  if (index === 0 && MARK.test(character)) return `◌${character}`; // it would combine with the preceding character
  if (!UNPRINTABLE.test(character)) return character;
  if (character === JOINER && index > 0 && index < all.length - 1
    && !UNPRINTABLE.test(all[index - 1]) && !UNPRINTABLE.test(all[index + 1])) return character;
  return `‹U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`;
}

/** Whether an offset between two code points separates two visible characters. */
export function isBoundary(text, offset) {
  if (offset >= text.length || offset === 0) return true;
  const after = text.codePointAt(offset);
  let start = offset - 1;
  const low = text.charCodeAt(start);
  if (low >= 0xdc00 && low < 0xe000 && start > 0) start -= 1;
  const before = text.codePointAt(start);
  if (before < 0x300 && after < 0x300) return true; // no marks, joiners or flags below U+0300
  const [left, right] = [String.fromCodePoint(before), String.fromCodePoint(after)];
  if (left === JOINER || right === JOINER || SKIN.test(right)) return /\s/.test(left);
  if (MARK.test(right)) return /\s/.test(left) || UNPRINTABLE.test(left);
  if (FLAG.test(left) && FLAG.test(right)) {
    let run = 0;
    for (let at = offset; at >= 2 && FLAG.test(text.slice(at - 2, at)); at -= 2) run += 1;
    return run % 2 === 0;
  }
  return true;
}

/** Bytes as pairs of hexadecimal digits. */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");

export const fromHex = (digits) => Uint8Array.from(digits.match(/../g) || [], (pair) => parseInt(pair, 16));

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Formats bytes: as text with glyphs if they are valid UTF-8, else byte by byte. */
export function shownBytes(bytes, spaces = true) {
  try {
    return visible(strict.decode(bytes), spaces);
  } catch {
    return mixed(bytes, spaces);
  }
}

/** Formats valid characters as text and other bytes in hexadecimal. */
function mixed(bytes, spaces) {
  let shown = "";
  for (let at = 0; at < bytes.length;) {
    const size = bytes[at] < 0x80 ? 1 : bytes[at] < 0xe0 ? 2 : bytes[at] < 0xf0 ? 3 : 4;
    try {
      const character = strict.decode(bytes.subarray(at, at + size));
      shown += visible(character, spaces);
      at += size;
    } catch {
      shown += `‹${bytes[at].toString(16).toUpperCase().padStart(2, "0")}›`;
      at += 1;
    }
  }
  return shown;
}
