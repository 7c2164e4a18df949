// The story of a token: of what it is made; and of a text: how it was merged, move by move.
import { button, choice, fill, make, number, say } from "./dom.js";
import { fromHex, hex, shownBytes } from "./glyphs.js";

const LONGEST_TREE = 48; // bytes: a wider one would be a line

/** The facts of one token as a list. */
export function factList(facts, more = []) {
  const rank = { byte: "a single byte, always there", special: "special, never merged" }[facts.kind];
  const rows = [
    ["id", number(facts.id)],
    ["bytes", make("code", {}, hex(fromHex(facts.bytes)))],
    ...more,
    ["rank", rank || `merge ${number(facts.rank)}`],
    ["count in training", facts.count === null ? (facts.kind === "merge" ? "not recorded" : "–") : number(facts.count)],
  ];
  return make("dl", { class: "facts" }, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

/** The tree of a token as rows of boxes: its bytes at the bottom, itself on top. */
export function tree(nodes) {
  const top = nodes[nodes.length - 1];
  if (top.end > LONGEST_TREE) {
    return make("p", { class: "quiet" }, `It has ${top.end} bytes: too wide to draw. Its last merge joined `,
      make("bdi", {}, nodes.filter((node) => top.pair && node.end - node.start < top.end)
        .slice(-2).map((node) => shownBytes(fromHex(node.bytes))).join(" + ")), ".");
  }
  const drawing = make("div", { class: "tree" });
  drawing.style.gridTemplateColumns = `repeat(${top.end}, minmax(2.1rem, 1fr))`;
  for (const node of nodes) {
    const bytes = fromHex(node.bytes);
    const box = make("div", { class: `node ${node.kind}` }, make("bdi", {}, shownBytes(bytes)),
      make("small", {}, node.kind === "byte" ? hex(bytes) : node.rank === null ? `id ${node.id}` : `#${number(node.rank)}`));
    if (node.count !== null) box.append(make("small", {}, `${number(node.count)}×`));
    box.style.gridColumn = `${node.start + 1} / ${node.end + 1}`;
    box.style.gridRow = String(top.level - node.level + 1);
    drawing.append(box);
  }
  // A byte that waits while its neighbours merge has a line up to where it is needed.
  for (const node of nodes) {
    if (!node.pair) continue;
    for (const child of nodes) {
      const under = child.start >= node.start && child.end <= node.end && child !== node;
      const gap = node.level - child.level - 1;
      if (!under || gap <= 0 || nodes.some((other) => other !== child && other !== node && other.level > child.level
        && other.level < node.level && other.start <= child.start && other.end >= child.end)) continue;
      const line = make("div", { class: "line" });
      line.style.gridColumn = `${child.start + 1} / ${child.end + 1}`;
      line.style.gridRow = `${top.level - node.level + 2} / ${top.level - child.level + 1}`;
      drawing.append(line);
    }
  }
  const label = `Merge tree of ${shownBytes(fromHex(top.bytes))}: ${nodes.filter((node) => node.kind === "merge").length} merges`;
  return make("div", { class: "scroll", tabindex: "0", role: "img", "aria-label": label }, drawing);
}

/** How a stretch of text was merged: a slider over the moves, and play. */
export function stepper(told, chosen) {
  const bytes = fromHex(told.bytes);
  const pretokenStarts = new Set(told.pretokens.map(([start]) => start));
  const total = told.moves.length;
  const line = make("div", { class: "moves", tabindex: "0", role: "group", "aria-label": "The text after this move" });
  const caption = make("p", { class: "move", "aria-live": "polite" });
  const slider = make("input", { type: "range", min: "0", max: String(total), "aria-label": "Move" });
  slider.oninput = () => { stop(); show(Number(slider.value)); };
  let at = 0;
  let timer = null;

  function show(move) {
    at = Math.max(0, Math.min(total, move));
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", `move ${at} of ${total}`);
    const starts = new Set(bytes.keys());
    for (const [start, end] of told.moves.slice(0, at)) {
      for (let inside = start + 1; inside < end; inside += 1) starts.delete(inside - told.start);
    }
    const [newStart, newEnd, id] = at ? told.moves[at - 1] : [-1, -1, -1];
    const places = [...starts].sort((a, b) => a - b);
    const cells = places.map((start, n) => {
      const end = places[n + 1] ?? bytes.length;
      const absolute = start + told.start;
      const kinds = ["cell"];
      if (absolute === newStart) kinds.push("born");
      if (end - start === 1) kinds.push("single");
      if (pretokenStarts.has(absolute) && n) kinds.push("pretoken");
      if (absolute < chosen[1] && end + told.start > chosen[0]) kinds.push("of");
      return make("span", { class: kinds.join(" ") }, shownBytes(bytes.subarray(start, end)));
    });
    fill(line, ...cells);
    if (at === 0) fill(caption, `${number(bytes.length)} bytes in ${number(told.pretokens.length)} pre-tokens, before the first merge`);
    else {
      const fact = told.facts[id];
      const made = shownBytes(bytes.subarray(newStart - told.start, newEnd - told.start));
      fill(caption, `Move ${number(at)} of ${number(total)}: `, make("bdi", { class: "made" }, made), " ",
        fact.kind === "special" ? "is a special token" : `is merge ${number(fact.rank)}`,
        fact.count === null ? "" : `, seen ${number(fact.count)}× in training`);
    }
    previous.disabled = at === 0;
    next.disabled = at === total;
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }

  const previous = button("‹", () => { stop(); show(at - 1); }, { "aria-label": "Previous move" });
  const next = button("›", () => { stop(); show(at + 1); }, { "aria-label": "Next move" });
  const play = button("Play", () => {
    if (timer) { stop(); return; }
    if (at === total) show(0);
    play.textContent = "Pause";
    timer = setInterval(() => {
      if (!line.isConnected) { stop(); return; }
      show(at + 1);
      if (at === total) stop();
    }, Math.max(120, Math.min(650, 15000 / total)));
  }, { class: "primary" });
  play.disabled = total === 0;
  show(total);
  return make("div", { class: "stack" }, make("div", { class: "row stepper" }, play, previous, slider, next), caption, line,
    !told.whole && make("p", { class: "quiet" }, "The part of the text around the token that you chose."));
}

/** All of it, in `element`: facts and tree of the token k, and the steps of the text around it. */
export async function tell(element, api, tokenizer, encoded, specials, from, to) {
  const start = encoded.byteStart(from);
  const end = encoded.ends[to - 1];
  const chosen = [...encoded.ids.subarray(from, to)];
  const treePlace = make("div", { class: "stack" });
  const draw = async (id) => {
    const { nodes } = await api.get("story/tree", { tokenizer, id });
    const top = nodes[nodes.length - 1];
    fill(treePlace, make("div", { class: "token-name" }, make("bdi", {}, shownBytes(fromHex(top.bytes)))), factList(top), tree(nodes));
  };
  const [, told] = await Promise.all([
    draw(chosen[0]),
    api.post("story/steps", { tokenizer, text: encoded.text, specials, at: start }),
  ]);
  const several = chosen.length > 1 && choice(chosen.map((id, n) => [n, `token ${n + 1} of ${chosen.length}: ${id}`]), 0,
    (n) => draw(chosen[n]));
  if (several) several.setAttribute("aria-label", "Which of the tokens that share this character");
  fill(element,
    make("section", { class: "card stack", "aria-label": "Merge tree" }, make("h2", {}, "How this token was made"),
      several && make("p", { class: "quiet" }, "These tokens share a character. ", several), treePlace),
    make("section", { class: "card stack", "aria-label": "Moves" }, make("h2", {}, "How this text was merged"),
      stepper(told, [start, end])));
  say("The story of the token is below");
}
