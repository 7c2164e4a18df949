// Requests to the server. All URLs are relative to the page's URL, which contains the token.

const base = new URL("api/", document.baseURI.split("#")[0]);

/** A failed request, with the server's error message. */
export class RequestError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function read(response) {
  if (response.ok) {
    const kind = response.headers.get("content-type") || "";
    return kind.startsWith("application/json") ? response.json() : unpack(await response.arrayBuffer());
  }
  let message = response.statusText;
  try {
    message = (await response.json()).error || message;
  } catch { /* the response is not JSON */ }
  throw new RequestError(response.status, message);
}

async function send(request) {
  try {
    return await request;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError(0, "The studio does not respond. Check that `merganser studio` is still running.");
  }
}

export async function get(path, parameters = {}) {
  const address = new URL(path, base);
  for (const [key, value] of Object.entries(parameters)) address.searchParams.set(key, value);
  return read(await send(fetch(address)));
}

export async function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return read(await send(fetch(new URL(path, base), { method: "POST", headers, body: JSON.stringify(body), signal })));
}

/** Posts bytes: the files of a tokenizer. */
export async function postBytes(path, body) {
  const headers = { "Content-Type": "application/octet-stream" };
  return read(await send(fetch(new URL(path, base), { method: "POST", headers, body })));
}

/** Gets a file as a Blob. */
export async function bytes(path, parameters) {
  const address = new URL(path, base);
  for (const [key, value] of Object.entries(parameters)) address.searchParams.set(key, value);
  const response = await send(fetch(address));
  return response.ok ? response.blob() : read(response);
}

/** Opens a stream of server-sent events; the caller closes it. */
export const events = (path) => new EventSource(new URL(path, base));

/**
 * Wraps `request` so that one call runs at a time and only the newest returns a result:
 * while one runs, only the newest of the others waits; outdated calls return undefined.
 */
export function latest(request) {
  let newest = 0;
  let running = Promise.resolve();
  return async (...parameters) => {
    const mine = ++newest;
    const before = running;
    let done;
    running = new Promise((resolve) => { done = resolve; });
    await before;
    try {
      if (mine !== newest) return undefined;
      const result = await request(...parameters);
      return mine === newest ? result : undefined;
    } catch (error) {
      if (mine !== newest) return undefined;
      throw error;
    } finally {
      done();
    }
  };
}

/** Reads what `packed` in messages.py wrote: the header, with its arrays in `arrays`. */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  let offset = 4 + length;
  header.arrays = header.lengths.map((count) => {
    const array = new Uint32Array(buffer, offset, count);
    offset += 4 * count;
    return array;
  });
  return header;
}

const cache = new Map();
/** Facts about a token (id, bytes, kind, rank, count, pair), cached. */
export function facts(tokenizer, id) {
  const key = `${id} ${tokenizer}`;
  if (!cache.has(key)) cache.set(key, get("merges/token", { tokenizer, id }));
  return cache.get(key);
}
