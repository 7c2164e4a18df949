// The session of this tab: what all views share and what each remembers, kept through navigation, Back, a reload and a
// restart of the server on the same port.
//
// Values are JSON, by key: "text", "tokenizer", … for all views, "NAME/key" for the view NAME. They live in memory and
// are written 300 ms after a change and when the page is hidden: to localStorage, long strings to IndexedDB, because
// localStorage holds 5 MB and blocks. A new tab starts with a copy of the session that was written last. A write takes
// about a millisecond, and a megabyte of text five, outside of any key press.

const LONG = 20000; // characters
const KEPT = 8; // sessions of closed tabs
const DELAY = 300;

const values = new Map();
const written = new Map(); // long strings as IndexedDB has them
let tab = "";
let timer = 0;
let isForgotten = false; // until the page is reloaded

const name = (id) => `merganser/session/${id}`;
const isLong = (value) => typeof value === "string" && value.length > LONG;

/** Reads the session. Blocked or damaged storage is an empty session. */
export async function open() {
  try {
    const before = sessionStorage.getItem("tab");
    tab = before && await isFree(before) ? before : Math.random().toString(36).slice(2);
    sessionStorage.setItem("tab", tab);
    const from = [before, localStorage.getItem("merganser/last")].find((id) => id && localStorage.getItem(name(id)));
    const { small, long } = JSON.parse(localStorage.getItem(name(from)) ?? '{"small": {}, "long": []}');
    for (const [key, value] of Object.entries(small)) values.set(key, value);
    for (const key of long) {
      const value = await store("readonly", (texts) => texts.get([from, key]));
      if (typeof value === "string") values.set(key, value);
      if (from === tab) written.set(key, value);
    }
  } catch { /* storage is blocked */ }
  addEventListener("pagehide", write);
  document.addEventListener("visibilitychange", () => { if (document.hidden) write(); });
}

/** Whether no other tab has this id: browsers copy it when a tab is duplicated. Holds the id until the tab is closed. */
function isFree(id) {
  if (!navigator.locks) return true;
  return new Promise((resolve) => {
    navigator.locks.request(name(id), { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock && new Promise(() => {});
    }).catch(() => resolve(true));
  });
}

export const id = () => tab;

export const get = (key) => values.get(key);

/** Changes values; undefined removes one. */
export function set(changes) {
  if (isForgotten) return; // a view may still finish its work
  let isChanged = false;
  for (const [key, value] of Object.entries(changes)) {
    if (value === values.get(key)) continue;
    isChanged = true;
    if (value === undefined) values.delete(key);
    else values.set(key, value);
  }
  if (!isChanged) return;
  clearTimeout(timer);
  timer = setTimeout(write, DELAY);
}

/** Removes all keys that start with this. */
export function drop(start) {
  set(Object.fromEntries([...values.keys()].filter((key) => key.startsWith(start)).map((key) => [key, undefined])));
}

/** Forgets this session and those of closed tabs, and what is set before the page is reloaded. */
export async function forget() {
  isForgotten = true;
  values.clear();
  written.clear();
  clearTimeout(timer);
  timer = 0;
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith("merganser/")) localStorage.removeItem(key);
    await store("readwrite", (texts) => texts.clear());
  } catch { /* storage is blocked */ }
}

/** Writes what has changed. */
async function write() {
  if (!timer) return;
  clearTimeout(timer);
  timer = 0;
  const long = [...values.keys()].filter((key) => isLong(values.get(key)));
  const small = Object.fromEntries([...values].filter(([, value]) => !isLong(value)));
  try {
    localStorage.setItem(name(tab), JSON.stringify({ time: Date.now(), small, long }));
    localStorage.setItem("merganser/last", tab);
    const changed = long.filter((key) => written.get(key) !== values.get(key));
    const gone = [...written.keys()].filter((key) => !long.includes(key));
    if (!changed.length && !gone.length) return;
    await store("readwrite", (texts) => {
      for (const key of changed) texts.put(values.get(key), [tab, key]);
      for (const key of gone) texts.delete([tab, key]);
    });
    for (const key of changed) written.set(key, values.get(key));
    for (const key of gone) written.delete(key);
    await prune();
  } catch { /* storage is blocked or full: the session lives as long as the page */ }
}

/** Removes the oldest sessions of other tabs. */
async function prune() {
  const times = Object.keys(localStorage).filter((key) => key.startsWith(name("")))
    .map((key) => [JSON.parse(localStorage.getItem(key)).time, key.slice(name("").length)]).sort((a, b) => b[0] - a[0]);
  for (const [, old] of times.slice(KEPT)) {
    localStorage.removeItem(name(old));
    await store("readwrite", (texts) => texts.delete(IDBKeyRange.bound([old], [old, []])));
  }
}

let database;
/** Runs `act` on the long strings in one transaction, and resolves to the result of the request it returns. */
async function store(mode, act) {
  database ??= await new Promise((resolve, reject) => {
    const request = indexedDB.open("merganser", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("texts");
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return new Promise((resolve, reject) => {
    const transaction = database.transaction("texts", mode);
    const request = act(transaction.objectStore("texts"));
    transaction.oncomplete = () => resolve(request?.result);
    transaction.onerror = transaction.onabort = () => reject(transaction.error);
  });
}
