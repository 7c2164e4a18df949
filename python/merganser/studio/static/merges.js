// The merge tree of a token, and the steps in which a text was merged.
import { button, fill, make, number } from "./dom.js";
import { fromHex, hex, shownBytes } from "./glyphs.js";

const LONGEST_TREE = 48; // bytes: a longer token is too wide to draw

/** Facts about a token as a description list. */
export function factList(facts, more = []) {
  const rank = { byte: "none (a single byte)", special: "none (a special token)" }[facts.kind];
  const rows = [
    ["id", String(facts.id)],
    ["bytes", make("code", {}, hex(fromHex(facts.bytes)))],
    ...more,
    ["rank", rank || `merge ${number(facts.rank)}`],
    ["count in training", facts.count === null ? (facts.kind === "merge" ? "not recorded" : "–") : number(facts.count)],
  ];
  return make("dl", { class: "facts" }, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

/** The merge tree of a token as rows of boxes: its bytes at the bottom, the token at the top. Clicking a box calls `choose`. */
export function tree(nodes, choose) {
  const top = nodes[nodes.length - 1];
  if (top.end > LONGEST_TREE) {
    return make("p", { class: "quiet" }, `This token has ${top.end} bytes, too many to draw a tree. Its last merge joined `,
      make("bdi", {}, nodes.filter((node) => top.pair && node.end - node.start < top.end)
        .slice(-2).map((node) => shownBytes(fromHex(node.bytes))).join(" + ")), ".");
  }
  const drawing = make("div", { class: "tree" });
  drawing.style.gridTemplateColumns = `repeat(${top.end}, minmax(2.1rem, 1fr))`;
  for (const node of nodes) {
    const bytes = fromHex(node.bytes);
    const rank = node.kind === "byte" ? hex(bytes) : node.rank === null ? `id ${node.id}` : `#${number(node.rank)}`;
    const box = make("button", { type: "button", class: `node ${node.kind}`, disabled: node === top, onclick: () => choose(node.id) },
      make("bdi", {}, shownBytes(bytes)), make("small", {}, rank));
    if (node.count !== null) box.append(make("small", {}, `${number(node.count)}×`));
    box.style.gridColumn = `${node.start + 1} / ${node.end + 1}`;
    box.style.gridRow = String(top.level - node.level + 1);
    drawing.append(box);
  }
  // A byte that is merged later than its neighbors is connected by a line to the merge that uses it.
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
  return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, drawing);
}

/** The merges of a token alone as `stepper` takes them, from its tree. */
export function stepsOf(nodes) {
  const top = nodes[nodes.length - 1];
  const merged = nodes.filter((node) => node.kind === "merge").sort((a, b) => a.rank - b.rank || a.start - b.start);
  return {
    start: 0, bytes: top.bytes, pretokens: [[0, top.end]], whole: true, chosen: [0, top.end],
    steps: merged.map(({ start, end, id }) => [start, end, id]), facts: Object.fromEntries(merged.map((node) => [node.id, node])),
  };
}

/** The merge steps of a part of a text, with a slider and a play button. */
export function stepper(answer) {
  const { chosen } = answer;
  const bytes = fromHex(answer.bytes);
  const pretokenStarts = new Set(answer.pretokens.map(([start]) => start));
  const total = answer.steps.length;
  const line = make("div", { class: "steps", tabindex: "0", role: "group", "aria-label": "The text after this step" });
  const caption = make("p", { class: "step-caption", "aria-live": "polite" });
  const slider = make("input", { type: "range", min: "0", max: String(total), "aria-label": "Step",
    oninput: () => { stop(); show(Number(slider.value)); } });
  let at = 0;
  let timer = null;

  function show(step) {
    at = Math.max(0, Math.min(total, step));
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", `step ${at} of ${total}`);
    const starts = new Set(bytes.keys());
    for (const [start, end] of answer.steps.slice(0, at)) {
      for (let inside = start + 1; inside < end; inside += 1) starts.delete(inside - answer.start);
    }
    const [newStart, newEnd, id] = at ? answer.steps[at - 1] : [-1, -1, -1];
    const offsets = [...starts].sort((a, b) => a - b);
    const cells = offsets.map((start, n) => {
      const end = offsets[n + 1] ?? bytes.length;
      const absolute = start + answer.start;
      const kinds = ["cell", `t${n % 5}`];
      if (absolute === newStart) kinds.push("merged");
      if (end - start === 1) kinds.push("single");
      if (pretokenStarts.has(absolute) && n) kinds.push("pretoken");
      if (absolute < chosen[1] && end + answer.start > chosen[0]) kinds.push("selected");
      return make("span", { class: kinds.join(" ") }, shownBytes(bytes.subarray(start, end)));
    });
    fill(line, ...cells);
    if (at === 0) fill(caption, `${number(bytes.length)} bytes in ${number(answer.pretokens.length)} pre-tokens, before the first merge`);
    else {
      const fact = answer.facts[id];
      const token = shownBytes(bytes.subarray(newStart - answer.start, newEnd - answer.start));
      fill(caption, `Step ${number(at)} of ${number(total)}: `, make("bdi", { class: "token-text" }, token), " ",
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

  const previous = button("‹", () => { stop(); show(at - 1); }, { "aria-label": "Previous step" });
  const next = button("›", () => { stop(); show(at + 1); }, { "aria-label": "Next step" });
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
    !answer.whole && make("p", { class: "quiet" }, "Only the text around the selected token is shown."));
}
