// The frame: the current view, its URL, the session and the color scheme.
//
// A view is a module views/NAME.js, with a style sheet views/NAME.css, that exports `title` and
// `mount(element, state, api)`. `mount` may return a function that is called when the user leaves the view. `state` has
//   about        {views, tokenizers: [{name, vocab_size, pattern, special_tokens, …}], folders} from the server
//   get(key)     a value of the session: shared by all views if it is one of SHARED, else of this view; or undefined
//   set({…})     changes strings in the session and in the URL without adding a history entry; undefined removes one.
//                A string that is too long for a URL is only in the session.
//   keep({…})    changes JSON values in the session only
//   tokenizer(usable)  the name of the session's tokenizer if it is loaded (and in `usable`), else the first; says so
//   say([name])  says that tokenizers of a link are not loaded
//   adding()     a button that adds a tokenizer and shows the view again with it
//   go(view, {…})  opens another view
//   refresh()    fetches `about` again, after a tokenizer was added
// The URL is #/NAME?key=value&…. One that is opened, as a link or from `go`, sets the session; an entry of this tab's own
// history (Back, reload) shows the session as it is now, so that nothing that was typed is lost.
import { acceptDrops, openAdding } from "./adding.js";
import * as api from "./api.js";
import { button, fill, make, notice } from "./dom.js";
import { visible } from "./glyphs.js";
import * as session from "./session.js";
import { share } from "./share.js";
import { sheet } from "./sheet.js";

/** Values that all views share; `id` is the chosen token of `tokenizer`. */
const SHARED = new Set(["text", "tokenizer", "specials", "id", "tab"]);
/** Those that a link without them turns off. */
const OPTIONAL = ["specials", "id"];
const LONGEST = 4000; // characters of a value in a URL

const views = {};
const main = document.getElementById("view");
const menu = document.getElementById("menu");
let about = null;
let leave = null;
let shown = "";
let visits = 0; // incremented for each view, so that a view that was left can be recognized

function read() {
  const [, name = "", query = ""] = /^#\/([a-z]*)\??(.*)$/s.exec(location.hash) || [];
  return { name: Object.hasOwn(views, name) ? name : about.views[0], parameters: new URLSearchParams(query) };
}

function address(name, parameters) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) if (value !== undefined && value !== "") query.set(key, value);
  return `#/${name}${query.size ? `?${query}` : ""}`;
}

const keyOf = (name, key) => (SHARED.has(key) ? key : `${name}/${key}`);

/** Takes the parameters of a link into the session. */
function take(name, parameters) {
  if (!parameters.size) return;
  session.drop(`${name}/`);
  session.set(Object.fromEntries(OPTIONAL.map((key) => [key, undefined])));
  session.set(Object.fromEntries([...parameters].map(([key, value]) => [keyOf(name, key), value])));
}

function stateOf(name, parameters) {
  const mine = visits;
  // The address changes before the event that tells of it, and a view may finish its work in between.
  const isLeft = () => mine !== visits || location.hash !== shown;
  return {
    get about() { return about; },
    get: (key) => session.get(keyOf(name, key)),
    set(changes) {
      if (isLeft()) return;
      for (const [key, value] of Object.entries(changes)) {
        if (value === undefined || value === "" || value.length > LONGEST) parameters.delete(key);
        else parameters.set(key, value);
      }
      this.keep(changes);
      shown = address(name, Object.fromEntries(parameters));
      history.replaceState({ tab: session.id() }, "", shown);
    },
    keep(changes) {
      if (!isLeft()) session.set(Object.fromEntries(Object.entries(changes).map(([key, value]) => [keyOf(name, key), value])));
    },
    tokenizer(usable = about.tokenizers.map((each) => each.name)) {
      const wanted = session.get("tokenizer");
      if (wanted === undefined || usable.includes(wanted)) return wanted ?? usable[0];
      const isLoaded = about.tokenizers.some((each) => each.name === wanted);
      notice(`${visible(wanted, false)} ${isLoaded ? "cannot be shown here" : "is not loaded in this studio"}; this is ${visible(usable[0], false)}.`, this.adding());
      return usable[0];
    },
    say(missing) { notice(`${missing.map((each) => visible(each, false)).join(", ")} ${missing.length > 1 ? "are" : "is"} not loaded in this studio.`, this.adding()); },
    adding: () => button("Add…", () => add(), { title: "Add a tokenizer: files, or a name" }),
    go(view, values = {}) { location.hash = address(view, values); },
    async refresh() { about = await api.get("about"); },
  };
}

/** Adds a tokenizer, chooses it, and shows the view again. */
function add(files) {
  openAdding(api, async (name) => {
    about = await api.get("about");
    const compared = session.get("compare/with");
    const { name: view } = read();
    session.set({ tokenizer: name, id: undefined, ...(view === "compare" && compared ? { "compare/with": [...compared.split("\n").slice(0, 3), name].join("\n") } : {}) });
    history.replaceState({ tab: session.id() }, "", `#/${view}`);
    shown = "";
    await show();
  }, files);
}

async function show() {
  if (!about.views.length) return;
  if (location.hash === shown && leave) return;
  const { name, parameters } = read();
  const view = views[name];
  if (leave) leave();
  leave = () => {};
  visits += 1;
  const mine = visits;
  shown = location.hash;
  if (history.state?.tab !== session.id()) take(name, parameters);
  document.title = `${view.title} · merganser studio`;
  for (const link of menu.querySelectorAll("a")) {
    if (link.dataset.view === name) {
      link.setAttribute("aria-current", "page");
      menu.scrollLeft = link.offsetLeft - menu.offsetLeft - (menu.clientWidth - link.clientWidth) / 2; // a phone is too narrow for all links
    } else link.removeAttribute("aria-current");
  }
  const element = make("div", { class: `view view-${name}` });
  notice();
  fill(main, make("h1", { class: "unseen" }, view.title), element);
  document.documentElement.dataset.view = name;
  await sheet(name);
  if (mine !== visits) return;
  const unmount = await view.mount(element, stateOf(name, parameters), api);
  if (typeof unmount !== "function") return;
  if (mine === visits) leave = unmount;
  else unmount(); // the user left while the view was loading
}

// Not by the address: a view that sets its own before the event is handled would undo it.
document.querySelector(".skip").onclick = (event) => {
  event.preventDefault();
  main.focus();
};

const SCHEMES = { auto: "light dark", light: "light", dark: "dark" };
const NEXT = { auto: "light", light: "dark", dark: "auto" };
const SIGNS = { auto: "◐", light: "☀", dark: "☾" };

/** Applies a color scheme; "auto" follows the system. Dispatches "theme" on the document. */
function setTheme(chosen) {
  const root = document.documentElement;
  if (chosen === "auto") delete root.dataset.theme;
  else root.dataset.theme = chosen;
  document.querySelector("meta[name=color-scheme]").content = SCHEMES[chosen];
  try { localStorage.setItem("theme", chosen); } catch { /* storage is blocked */ }
  const control = document.getElementById("theme");
  control.textContent = SIGNS[chosen];
  control.setAttribute("aria-label", `Color scheme: ${chosen}. Switch to ${NEXT[chosen]}`);
  control.title = `Color scheme: ${chosen}`;
  control.onclick = () => setTheme(NEXT[chosen]);
  document.dispatchEvent(new CustomEvent("theme", { detail: isDark() ? "dark" : "light" }));
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

async function start() {
  let chosen = "auto";
  try { chosen = localStorage.getItem("theme") || "auto"; } catch { /* storage is blocked */ }
  setTheme(Object.hasOwn(SCHEMES, chosen) ? chosen : "auto");
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    document.dispatchEvent(new CustomEvent("theme", { detail: isDark() ? "dark" : "light" })));
  [about] = await Promise.all([api.get("about"), session.open()]);
  const modules = await Promise.all(about.views.map((name) => import(`./views/${name}.js`)));
  about.views.forEach((name, nth) => { views[name] = modules[nth]; });
  fill(menu, ...about.views.map((name) => make("a", { href: `#/${name}`, data: { view: name } }, views[name].title)));
  addEventListener("hashchange", show);
  acceptDrops(add);
  document.getElementById("share").onclick = () => share(read().name);
  document.getElementById("reset").onclick = async () => {
    await session.forget();
    location.hash = `#/${read().name}`;
    location.reload();
  };
  await show();
  document.documentElement.dataset.ready = "true";
}

start().catch((error) => {
  fill(main, make("p", { class: "error", role: "alert" }, error.message), button("Try again", () => location.reload()));
});
