// Playground: tokens, ids and bytes of a text as it is typed; pointing at a token highlights it in all panes.
import { announce, button, choice, copy, fill, labeled, make, number, toggle } from "../dom.js";
import { Editor } from "../editor.js";
import { Linked } from "../flow.js";
import { hex, shownBytes, visible } from "../glyphs.js";
import { showMerges } from "../merges.js";
import { Encoder } from "../tokens.js";

export const title = "Playground";

const START = "The merganser dives for tokens: naïve café, 東京タワー, 12345.678 and 👍🏽!\n\n"
  + "def quack(times: int = 3) -> str:\n    return \"quack \" * times\n";
const LONGEST_LINK = 4000; // characters: longer texts are not stored in the URL
const LONGEST_COPY = 200000; // tokens

export async function mount(element, state, api) {
  const { tokenizers } = state.about;
  const names = tokenizers.map(({ name }) => name);
  let tokenizer = names.includes(state.get("tokenizer")) ? state.get("tokenizer") : names[0];
  let specials = state.get("specials") === "1";
  let shownRequest = null; // the request whose tokens are shown
  let encoded = null;
  let figures = null;
  let urlTimer = 0;

  const linked = new Linked({ point, choose: (from, to) => choose(from, to) });
  const editor = new Editor({ rows: 7, id: "text" }, encode);
  const shown = make("dl", { class: "figures", "aria-label": "Figures" });
  const pointed = make("div", { class: "pointed card" });
  const merges = make("div", { class: "stack" });
  const problem = make("p", { class: "error", role: "alert" });

  const encoder = new Encoder(api);
  let running = null;
  let isOutdated = false;

  /** Runs one request at a time; while it runs, only the newest text waits. */
  function encode() {
    isOutdated = true;
    running ||= (async () => {
      while (isOutdated) {
        isOutdated = false;
        await encodeOnce();
      }
      running = null;
    })();
    return running;
  }

  async function encodeOnce() {
    const wanted = { tokenizer, text: editor.text, specials };
    if (Object.keys(wanted).every((key) => wanted[key] === shownRequest?.[key])) return; // inserting a line fires several events
    try {
      const answer = await encoder.encode(tokenizer, wanted.text, specials);
      problem.textContent = "";
      ({ encoded, figures } = answer);
    } catch (error) {
      problem.textContent = error.message;
      return;
    }
    shownRequest = wanted;
    encoded.specials = specialIds(tokenizers.find(({ name }) => name === wanted.tokenizer));
    linked.show(encoded);
    showFigures();
    point();
    editor.field.dataset.shown = String(wanted.text.length);
    clearTimeout(urlTimer);
    urlTimer = setTimeout(updateUrl, 250);
  }

  function updateUrl() {
    const short = editor.text.length <= LONGEST_LINK;
    const at = linked.chosen ? String(linked.chosen[0]) : undefined;
    state.set({ tokenizer, specials: specials ? "1" : undefined, text: short ? editor.text : undefined, at });
    share.textContent = short ? "Copy link" : "Too long for a link";
    share.disabled = !short;
  }

  function showFigures() {
    const { tokens, characters, bytes, id_bytes: idBytes, different } = figures;
    const rows = [
      ["tokens", number(tokens)], ["characters", number(characters)], ["bytes", number(bytes)],
      ["bytes per token", number(tokens ? bytes / tokens : 0, 2)],
      ["compression", `${number(tokens ? bytes / tokens / idBytes : 0, 2)}×`],
      ["unique tokens", number(different)],
    ];
    if (shown.children.length !== rows.length) {
      fill(shown, ...rows.map(([name]) => make("div", {}, make("dt", {}, name), make("dd", {}))));
    }
    rows.forEach(([, value], n) => { shown.children[n].lastChild.textContent = value; });
  }

  /** Shows facts about the tokens under the pointer. */
  function point(from, to) {
    if (from === undefined || !encoded || to > encoded.count) {
      fill(pointed, make("p", { class: "quiet" }, encoded?.count
        ? "Point at a token to highlight it in all panes; click it to see its merges. Keyboard: Tab to a pane, then use the arrow keys."
        : "Type or paste a text, or choose a preset."));
      return;
    }
    const name = make("bdi", { class: "token-text" }, visible(encoded.text.slice(encoded.start(from), encoded.end(to - 1))));
    const rows = [];
    for (let k = from; k < Math.min(to, from + 8); k += 1) {
      const rank = make("span", {}, "…");
      const count = make("span", {}, "…");
      rows.push([
        ["id", number(encoded.ids[k])], ["bytes", make("code", {}, hex(encoded.bytes(k).subarray(0, 24)))],
        ["offset", `${number(encoded.start(k))}–${number(encoded.end(k))}, bytes ${number(encoded.byteStart(k))}–${number(encoded.ends[k])}`],
        ["rank", rank], ["count in training", count],
      ]);
      api.facts(tokenizer, encoded.ids[k]).then((facts) => {
        rank.textContent = facts.rank === null ? facts.kind : number(facts.rank);
        count.textContent = number(facts.count);
      }).catch(() => {});
    }
    fill(pointed, make("div", { class: "row" }, name,
      make("span", { class: "quiet" }, `token ${number(from + 1)}${to - from > 1 ? `–${number(to)}, which share a character` : ""} of ${number(encoded.count)}`)),
      ...rows.map((row) => make("dl", { class: "strip" }, ...row.map(([key, value]) => make("div", {}, make("dt", {}, key), make("dd", {}, value))))));
  }

  async function choose(from, to) {
    announce(`${visible(encoded.text.slice(encoded.start(from), encoded.end(to - 1)))}, id ${[...encoded.ids.subarray(from, to)].join(", ")}`);
    const [wanted, of] = [encoded, `${from} ${to}`];
    merges.dataset.of = of;
    state.set({ at: String(from) });
    try {
      const content = make("div", { class: "stack" });
      await showMerges(content, api, tokenizer, wanted, specials, from, to);
      if (merges.dataset.of === of && wanted === encoded) fill(merges, content);
    } catch (error) {
      fill(merges, make("p", { class: "error", role: "alert" }, error.message));
    }
  }

  editor.set(state.get("text") ?? START);

  const presets = make("select", { "aria-label": "Preset texts" }, make("option", { value: "" }, "Presets…"));
  api.get("playground/presets").then((groups) => {
    for (const [group, texts] of Object.entries(groups)) {
      const options = Object.keys(texts).map((name) => make("option", { value: `${group}/${name}` }, name));
      presets.append(make("optgroup", { label: group }, ...options));
    }
    presets.onchange = () => {
      const [group, name] = presets.value.split(/\/(.*)/s);
      if (name) {
        editor.set(groups[group][name]);
        encode();
      }
      presets.value = "";
    };
  }).catch((error) => { problem.textContent = error.message; });

  const tooMany = () => encoded.count > LONGEST_COPY && `${number(encoded.count)} tokens are too many to copy`;
  const copies = {
    "Copy ids": () => `[${encoded.ids.join(", ")}]`,
    "Copy JSON": () => JSON.stringify({ tokenizer, text: encoded.text, ids: [...encoded.ids],
      tokens: Array.from(encoded.ids, (_, k) => shownBytes(encoded.bytes(k), false)) }),
    "Copy Python": () => python(tokenizers.find(({ name }) => name === tokenizer), encoded, specials),
  };
  const share = button("Copy link", () => { updateUrl(); copy(location.href, share); });
  const copying = Object.entries(copies).map(([name, contents]) => {
    const control = button(name, () => copy(tooMany() || contents(), control));
    return control;
  });

  const cells = {
    text: (all, from, to) => {
      const list = [];
      for (let k = from; k < to;) {
        const end = all.segmentEnd(k);
        const part = all.text.slice(all.end(k - 1), all.end(end - 1));
        const kinds = [];
        if (end - k > 1) kinds.push("cut");
        if (all.specials.has(all.ids[k])) kinds.push("special");
        if (part.endsWith("\n")) kinds.push("line-end");
        list.push({ text: visible(part), from: k, to: end, class: kinds.join(" ") });
        k = end;
      }
      return list;
    },
    ids: (all, from, to) => Array.from(all.ids.subarray(from, to), (id, n) => ({ text: String(id), from: from + n, to: from + n + 1, class: "" })),
    bytes: (all, from, to) => Array.from({ length: to - from }, (_, n) => ({ text: hex(all.bytes(from + n)), from: from + n, to: from + n + 1, class: "" })),
  };

  fill(element,
    make("div", { class: "row bar" },
      labeled("Tokenizer", choice(tokenizers.map(({ name, vocab_size: size }) => [name, `${visible(name, false)} · ${number(size)}`]), tokenizer,
        (name) => { tokenizer = name; encode(); })),
      presets,
      toggle("Special tokens", specials, (on) => { specials = on; encode(); }),
      make("div", { class: "buttons" }, ...copying, share)),
    make("div", { class: "columns" },
      make("div", { class: "stack" },
        make("label", { class: "unseen", for: "text" }, "Text"), editor.element, problem, shown,
        make("section", { class: "pane text-pane" }, make("h2", {}, "Tokens"), linked.pane("Tokens", cells.text)),
        make("div", { class: "pair" },
          make("section", { class: "pane" }, make("h2", {}, "Ids"), linked.pane("Ids", cells.ids)),
          make("section", { class: "pane" }, make("h2", {}, "Bytes"), linked.pane("Bytes", cells.bytes)))),
      make("div", { class: "stack side" }, pointed, merges)));

  const at = Number(state.get("at"));
  const hasAt = state.get("at") !== undefined;
  await encode();
  if (encoded?.count) {
    const k = hasAt && at >= 0 && at < encoded.count ? at : encoded.segmentStart(Math.min(1, encoded.count - 1));
    if (hasAt) linked.choose(encoded.segmentStart(k), encoded.segmentEnd(k));
  }
  return () => { clearTimeout(urlTimer); linked.close(); };
}

const specialIds = ({ special_tokens: tokens }) => new Set(Object.values(tokens));

/** A Python program that produces the same ids. */
function python({ name, source }, encoded, specials) {
  const options = specials ? 'allowed_special="all"' : "disallowed_special=()";
  // A tokenizer from another library is loaded from a live object of that library.
  const library = /^merganser\.load\((tiktoken|tokenizers|transformers)\./.exec(source || "");
  return [
    "import merganser", ...(library ? [`import ${library[1]}`] : []), "",
    `tokenizer = ${source || `merganser.load(${JSON.stringify(name)})`}`,
    `text = ${JSON.stringify(encoded.text)}`,
    `ids = [${encoded.ids.join(", ")}]`,
    `assert tokenizer.encode(text, ${options}) == ids`, "",
  ].join("\n");
}
