// Syntax highlighting for Python, as far as the files of the ladder need it.
import { make } from "./dom.js";

const KEYWORDS = new Set(("and as assert break class continue def del elif else except False finally for from global if import in is "
  + "lambda None nonlocal not or pass raise return True try while with yield").split(" "));
const TOKEN = /(#.*$)|([rbf]{0,2}"""|[rbf]{0,2}"(?:[^"\\]|\\.)*"|[rbf]{0,2}'(?:[^'\\]|\\.)*')|([A-Za-z_]\w*)|(\d[\d_.]*)/g;

/** Returns a list of nodes for each line; triple-quoted strings may span lines. */
export function highlight(lines) {
  let inString = false;
  return lines.map((line) => {
    const nodes = [];
    let offset = 0;
    const add = (kind, text) => nodes.push(kind ? make("span", { class: kind }, text) : text);
    const close = (from) => {
      const end = line.indexOf('"""', from);
      inString = end < 0;
      return inString ? line.length : end + 3;
    };
    if (inString) {
      offset = close(0);
      add("code-string", line.slice(0, offset));
    }
    TOKEN.lastIndex = offset;
    for (let found; !inString && (found = TOKEN.exec(line));) {
      add("", line.slice(offset, found.index));
      offset = TOKEN.lastIndex;
      const [whole, comment, string, word] = found;
      if (string && string.endsWith('"""')) {
        const start = found.index;
        offset = TOKEN.lastIndex = close(offset);
        add("code-string", line.slice(start, offset));
      } else add(comment ? "code-comment" : string ? "code-string" : word ? (KEYWORDS.has(word) ? "code-keyword" : "") : "code-number", whole);
    }
    if (offset < line.length) add("", line.slice(offset));
    return nodes;
  });
}
