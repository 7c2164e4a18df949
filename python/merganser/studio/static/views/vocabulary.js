// Vocabulary: all tokens, searched and sorted, and what one of them is made of.
import { button, choice, fill, labelled, make, number } from "../dom.js";
import { fromHex, hex, shownBytes, visible } from "../glyphs.js";
import { factList, tree } from "../story.js";

export const title = "Vocabulary";

const PAGE = 100;
const HINTS = { text: "ing", bytes: "20 74 68", regex: "^ [A-Z]", id: "1000 or 256-300" };

export async function mount(element, state, api) {
  const { tokenizers } = state.about;
  const names = tokenizers.map(({ name }) => name);
  const first = names.includes(state.get("tokenizer")) ? state.get("tokenizer") : names[0];
  const counted = tokenizers.find(({ name }) => name === first).has_counts;
  const asked = {
    tokenizer: first,
    by: state.get("by") in HINTS ? state.get("by") : "text",
    query: state.get("query") ?? "",
    sort: state.get("sort") ?? (counted ? "count" : "rank"),
    falling: state.get("sort") ? state.get("falling") === "1" : counted,
    start: Number(state.get("start")) || 0,
    size: PAGE,
  };
  let chosen = state.get("id");
  const query = make("input", { type: "search", id: "query", placeholder: HINTS[asked.by], autocomplete: "off", spellcheck: "false" });
  const total = make("p", { class: "quiet", role: "status" });
  const problem = make("p", { class: "error", role: "alert" });
  const body = make("tbody");
  const detail = make("div", { class: "stack side", "aria-live": "polite" });
  const ask = api.latest((wanted) => api.post("vocabulary/search", wanted));
  const heads = {};

  async function search(start = 0) {
    asked.start = start;
    let answer;
    try {
      answer = await ask({ ...asked });
      problem.textContent = answer?.problem ?? "";
    } catch (error) {
      problem.textContent = error.message;
      return;
    }
    if (!answer || answer.problem) return;
    fill(body, ...answer.rows.map(row));
    const last = Math.min(asked.start + PAGE, answer.total);
    total.textContent = answer.total ? `${number(asked.start + 1)}–${number(last)} of ${number(answer.total)} tokens` : "No token matches";
    previous.disabled = asked.start === 0;
    next.disabled = last >= answer.total;
    for (const [name, head] of Object.entries(heads)) {
      if (name === asked.sort) head.setAttribute("aria-sort", asked.falling ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    remember();
  }

  function remember() {
    state.set({ tokenizer: asked.tokenizer, by: asked.by, query: asked.query, sort: asked.sort, falling: asked.falling ? "1" : undefined,
      start: asked.start ? String(asked.start) : undefined, id: chosen });
  }

  function row(facts) {
    const bytes = fromHex(facts.bytes);
    const name = button(shownBytes(bytes), () => choose(facts.id), { class: "token" });
    const line = make("tr", { data: { id: String(facts.id) } },
      make("td", { class: "number" }, number(facts.id)), make("td", {}, make("bdi", {}, name)),
      make("td", {}, make("code", { class: "quiet" }, hex(bytes.subarray(0, 8)) + (bytes.length > 8 ? " …" : ""))),
      make("td", { class: "number" }, number(bytes.length)), make("td", { class: "number" }, facts.rank === null ? facts.kind : number(facts.rank)),
      make("td", { class: "number" }, number(facts.count)));
    line.classList.toggle("chosen", String(facts.id) === chosen);
    return line;
  }

  async function choose(id) {
    chosen = String(id);
    for (const line of body.children) line.classList.toggle("chosen", line.dataset.id === chosen);
    remember();
    try {
      const [{ nodes }, { neighbours }] = await Promise.all([
        api.get("story/tree", { tokenizer: asked.tokenizer, id }), api.get("vocabulary/neighbours", { tokenizer: asked.tokenizer, id }),
      ]);
      if (chosen !== String(id)) return;
      const top = nodes[nodes.length - 1];
      const text = new TextDecoder().decode(fromHex(top.bytes));
      fill(detail, make("section", { class: "card stack" }, make("h2", {}, "How this token was made"),
        make("div", { class: "token-name" }, make("bdi", {}, shownBytes(fromHex(top.bytes)))), factList(top), tree(nodes),
        make("div", { class: "buttons" }, button("Open in the playground", () => state.go("playground", { tokenizer: asked.tokenizer, text, at: "0" })))),
      neighbours?.length > 0 && make("section", { class: "card stack" }, make("h2", {}, "Nearest by embedding"),
        make("ol", { class: "near" }, ...neighbours.map((near) => make("li", {},
          button(shownBytes(fromHex(near.bytes)), () => choose(near.id), { class: "token" }), " ", make("span", { class: "quiet" }, number(near.similarity, 3)))))));
    } catch (error) {
      fill(detail, make("p", { class: "error", role: "alert" }, error.message));
    }
  }

  const sortable = (name, label) => {
    const head = make("th", { scope: "col", class: "number" }, button(label, () => {
      asked.falling = asked.sort === name ? !asked.falling : name !== "rank";
      asked.sort = name;
      search();
    }, { class: "plain sort" }));
    heads[name] = head;
    return head;
  };
  const previous = button("‹ Previous", () => search(Math.max(0, asked.start - PAGE)));
  const next = button("Next ›", () => search(asked.start + PAGE));
  query.value = asked.query;
  query.addEventListener("input", () => { asked.query = query.value; search(); });

  fill(element,
    make("div", { class: "row bar" },
      labelled("Tokenizer", choice(tokenizers.map(({ name, vocab_size: size }) => [name, `${visible(name, false)} · ${number(size)}`]), asked.tokenizer,
        (name) => { asked.tokenizer = name; chosen = undefined; fill(detail); search(); })),
      labelled("Search by", choice([["text", "text"], ["bytes", "bytes"], ["regex", "regular expression"], ["id", "id"]], asked.by,
        (by) => { asked.by = by; query.placeholder = HINTS[by]; query.focus(); search(); })),
      make("label", { class: "unseen", for: "query" }, "Search"), query),
    problem,
    make("div", { class: "columns" },
      make("div", { class: "stack" },
        make("div", { class: "row end" }, total, make("div", { class: "buttons" }, previous, next)),
        make("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Tokens" },
          make("table", { class: "wide" }, make("thead", {}, make("tr", {},
            make("th", { scope: "col", class: "number" }, "Id"), make("th", { scope: "col" }, "Token"), make("th", { scope: "col" }, "Bytes"),
            sortable("length", "Length"), sortable("rank", "Rank"), sortable("count", "Count"))), body))),
      detail));
  await search(asked.start);
  if (chosen !== undefined) await choose(Number(chosen));
}
