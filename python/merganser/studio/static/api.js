// Talks to the server. All addresses are relative to the page's, which has the token in it.

const base = new URL("api/", document.baseURI.split("#")[0]);

/** What the server refused, in its own words. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function answer(response) {
  if (response.ok) {
    const kind = response.headers.get("content-type") || "";
    return kind.startsWith("application/json") ? response.json() : unpack(await response.arrayBuffer());
  }
  let message = response.statusText;
  try {
    message = (await response.json()).error || message;
  } catch { /* no words of its own */ }
  throw new Refused(response.status, message);
}

async function reached(request) {
  try {
    return await request;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The studio does not answer. Is it still running?");
  }
}

export async function get(path, parameters = {}) {
  const address = new URL(path, base);
  for (const [key, value] of Object.entries(parameters)) address.searchParams.set(key, value);
  return answer(await reached(fetch(address)));
}

export async function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return answer(await reached(fetch(new URL(path, base), { method: "POST", headers, body: JSON.stringify(body), signal })));
}

/** A stream of server-sent events; the caller closes it. */
export const events = (path) => new EventSource(new URL(path, base));

/**
 * A function that asks, one question at a time, and gives only the answer to the newest:
 * while one is under way the newest waits, those between are never asked, and late answers are undefined.
 */
export function latest(ask) {
  let newest = 0;
  let underWay = Promise.resolve();
  return async (...question) => {
    const mine = ++newest;
    const before = underWay;
    let done;
    underWay = new Promise((resolve) => { done = resolve; });
    await before;
    try {
      if (mine !== newest) return undefined;
      const answered = await ask(...question);
      return mine === newest ? answered : undefined;
    } catch (error) {
      if (mine !== newest) return undefined;
      throw error;
    } finally {
      done();
    }
  };
}

/** The opposite of `packed` in messages.py: the header, with its arrays of numbers as `arrays`. */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  let place = 4 + length;
  header.arrays = header.lengths.map((count) => {
    const array = new Uint32Array(buffer, place, count);
    place += 4 * count;
    return array;
  });
  return header;
}

const known = new Map();
/** What is known of a token: id, bytes, kind, rank, count, pair. Asked for once. */
export function facts(tokenizer, id) {
  const key = `${id} ${tokenizer}`;
  if (!known.has(key)) known.set(key, get("story/token", { tokenizer, id }));
  return known.get(key);
}
