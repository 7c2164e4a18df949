// Follows a job of the server until it is over.

/** The user cancelled the job. */
export class Cancelled extends Error {}

/**
 * Follows a job of `view`. Calls on[kind](data) for its events; `result` resolves with the data of "done".
 * The stream ends with the job, or with `close()`, after which `result` never settles.
 */
export function follow(api, view, job, on = {}) {
  const stream = api.events(`${view}/events?job=${encodeURIComponent(job)}`);
  const result = new Promise((resolve, reject) => {
    const listen = (kind, act) => stream.addEventListener(kind, (event) => act(JSON.parse(event.data)));
    const end = (act) => (data) => { stream.close(); act(data); };
    for (const [kind, act] of Object.entries(on)) listen(kind, act);
    listen("done", end(resolve));
    listen("cancelled", end(() => reject(new Cancelled("Cancelled."))));
    listen("failed", end((data) => reject(new Error(data.error))));
    stream.onerror = () => {
      if (stream.readyState !== EventSource.CLOSED) return; // the browser reconnects
      const lost = new Error("This job no longer exists; start it again.");
      lost.isLost = true;
      reject(lost);
    };
  });
  return { result, close: () => stream.close() };
}

/** Says how many jobs are waited for, or undefined if none. */
export const waitingFor = ({ waiting }) =>
  waiting ? `Waiting for ${waiting} ${waiting === 1 ? "job" : "jobs"}.` : undefined;
