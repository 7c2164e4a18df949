// How characters look: the rules of merganser/glyphs.py, for the browser. Nothing that is shown can hide or act.

const GLYPHS = new Map([[" ", "·"], ["\t", "⇥"], ["\n", "⏎"], ["\u00a0", "⍽"], ["\x7f", "␡"]]);
const JOINER = "\u200d";
const PLAIN = /^[!-~]*$/;
const UNPRINTABLE = /[\p{C}\p{Z}]/u;
const MARK = /^\p{M}/u;
const FLAG = /[\u{1f1e6}-\u{1f1ff}]/u;
const SKIN = /[\u{1f3fb}-\u{1f3ff}]/u;

/** The text with a glyph for all that has none; with `spaces` false, a space stays a space. */
export function visible(text, spaces = true) {
  if (PLAIN.test(text)) return text;
  const characters = [...text];
  let shown = "";
  characters.forEach((character, place) => { shown += glyph(character, place, characters, spaces); });
  return shown;
}

function glyph(character, place, all, spaces) {
  if (!spaces && character === " ") return " ";
  if (GLYPHS.has(character)) return GLYPHS.get(character);
  if (character < " ") return String.fromCodePoint(0x2400 + character.codePointAt(0));
  if (place === 0 && MARK.test(character)) return `◌${character}`; // it would sit on whatever stands before
  if (!UNPRINTABLE.test(character)) return character;
  if (character === JOINER && place > 0 && place < all.length - 1
    && !UNPRINTABLE.test(all[place - 1]) && !UNPRINTABLE.test(all[place + 1])) return character;
  return `‹U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`;
}

/** Whether a reader sees two characters here, at a place between two code points. */
export function isBoundary(text, place) {
  if (place >= text.length || place === 0) return true;
  const after = text.codePointAt(place);
  let start = place - 1;
  const low = text.charCodeAt(start);
  if (low >= 0xdc00 && low < 0xe000 && start > 0) start -= 1;
  const before = text.codePointAt(start);
  if (before < 0x300 && after < 0x300) return true; // no marks, joiners or flags there
  const [left, right] = [String.fromCodePoint(before), String.fromCodePoint(after)];
  if (left === JOINER || right === JOINER || SKIN.test(right)) return /\s/.test(left);
  if (MARK.test(right)) return /\s/.test(left) || UNPRINTABLE.test(left);
  if (FLAG.test(left) && FLAG.test(right)) {
    let run = 0;
    for (let at = place; at >= 2 && FLAG.test(text.slice(at - 2, at)); at -= 2) run += 1;
    return run % 2 === 0;
  }
  return true;
}

/** Bytes as pairs of hexadecimal digits. */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");

export const fromHex = (digits) => Uint8Array.from(digits.match(/../g) || [], (pair) => parseInt(pair, 16));

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Bytes for people: as text with glyphs if they are one, else byte by byte. */
export function shownBytes(bytes, spaces = true) {
  try {
    return visible(strict.decode(bytes), spaces);
  } catch {
    return partly(bytes, spaces);
  }
}

/** What can be read of them, the rest in hexadecimal. */
function partly(bytes, spaces) {
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
