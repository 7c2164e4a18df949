// Python for people: a line of code as coloured words. Knows as much of the language as the ladder's files need.
import { make } from "./dom.js";

const WORDS = new Set(("and as assert break class continue def del elif else except False finally for from global if import in is "
  + "lambda None nonlocal not or pass raise return True try while with yield").split(" "));
const PART = /(#.*$)|([rbf]{0,2}"""|[rbf]{0,2}"(?:[^"\\]|\\.)*"|[rbf]{0,2}'(?:[^'\\]|\\.)*')|([A-Za-z_]\w*)|(\d[\d_.]*)/g;

/** Lines as lists of nodes; strings of three quotes may go on over several of them. */
export function coloured(lines) {
  let within = false;
  return lines.map((line) => {
    const nodes = [];
    let place = 0;
    const add = (kind, text) => nodes.push(kind ? make("span", { class: kind }, text) : text);
    const close = (from) => {
      const end = line.indexOf('"""', from);
      within = end < 0;
      return within ? line.length : end + 3;
    };
    if (within) {
      place = close(0);
      add("code-text", line.slice(0, place));
    }
    PART.lastIndex = place;
    for (let found; !within && (found = PART.exec(line));) {
      add("", line.slice(place, found.index));
      place = PART.lastIndex;
      const [whole, remark, text, word] = found;
      if (text && text.endsWith('"""')) {
        const start = found.index;
        place = PART.lastIndex = close(place);
        add("code-text", line.slice(start, place));
      } else add(remark ? "code-remark" : text ? "code-text" : word ? (WORDS.has(word) ? "code-word" : "") : "code-number", whole);
    }
    if (place < line.length) add("", line.slice(place));
    return nodes;
  });
}
