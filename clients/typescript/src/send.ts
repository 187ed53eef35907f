import type { components } from "./schema.js";

type Problem = components["schemas"]["Problem"];

/** Says how to reach a server. Nothing is required for one on this machine with its default settings. */
export interface Options {
  /** Its address; default http://127.0.0.1:2355. */
  server?: string;
  /** Sent as Authorization: Bearer; default: none. */
  key?: string;
  /** For one try, from the request to the last byte, in milliseconds; default 30,000. A call that settles has a minute more. */
  timeoutMs?: number;
  /** How often a call is made again after it failed; default 3. Only what cannot be done twice by that is repeated. A Retry-After of more than a minute is not waited for. If the answer of a successful try was lost, its repetition may throw 404 for a DELETE, and 409 for a PUT with a version. */
  retries?: number;
  /** Default: globalThis.fetch. */
  fetch?: (request: Request) => Promise<Response>;
}

/** The longest Retry-After that is waited for, in milliseconds. */
const longestRetryAfter = 60_000;

/** What the server answered when it refused: a problem document (RFC 9457). */
export class BellmanError extends Error {
  override readonly name = "BellmanError";
  /** The HTTP status: 401, 403, 404, 409 (the key has other content), 422 (see errors), 429, 503, … */
  readonly status: number;
  /** Every wrong field, with its place in the body, such as body.schedule. */
  readonly errors: readonly { location: string; message: string }[];
  /** What it is about: the task whose key is taken. */
  readonly instance: string | undefined;
  /** When to ask again, in milliseconds; 0: the server did not say. */
  readonly retryAfterMs: number;

  constructor(problem: Problem, retryAfterMs: number) {
    const faults = (problem.errors ?? []).map((f) => `; ${f.location}: ${f.message}`).join("");
    super(`${problem.status} ${problem.title}${problem.detail ? `: ${problem.detail}` : ""}${faults}`);
    this.status = problem.status;
    this.errors = problem.errors ?? [];
    this.instance = problem.instance;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Makes requests: with the key, again where that is safe, with an end to waiting, and with errors that are thrown. */
export function send(options: Options, stream: boolean): (request: Request) => Promise<Response> {
  const { key, timeoutMs = 30_000, retries = 3, fetch = (r: Request) => globalThis.fetch(r) } = options;
  return async (request) => {
    const body = request.method === "GET" ? undefined : await request.arrayBuffer(); // a bill may be no UTF-8
    const headers = new Headers(request.headers);
    if (key !== undefined) headers.set("Authorization", `Bearer ${key}`);
    const safe = repeatable(request, body);
    const patience = timeoutMs + (/[/?&]settle\b/.test(request.url) ? 60_000 : 0);
    for (let tried = 0; ; tried++) {
      let pause = Math.min(100 * 2 ** tried, 5_000) * (0.5 + Math.random() / 2);
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(new DOMException(`bellman: no answer in ${patience} ms`, "TimeoutError")), patience);
      try {
        const signal = AbortSignal.any([request.signal, late.signal]);
        // A redirect would turn a POST into a GET, whose answer says nothing of what was asked.
        const redirect = request.method === "GET" ? "follow" : "manual";
        const response = await fetch(new Request(request.url, { method: request.method, headers, signal, redirect, ...(body?.byteLength ? { body } : {}) }));
        if (response.ok && stream) return response;
        const text = await response.text();
        if (response.ok) return new Response(text || null, response);
        const refusal = refused(response, text);
        if (tried >= retries || refusal.retryAfterMs > longestRetryAfter || !(refusal.status === 429 || (safe && [502, 503, 504].includes(refusal.status)))) throw refusal;
        pause = Math.max(pause, refusal.retryAfterMs);
      } catch (err) {
        if (err instanceof BellmanError || request.signal.aborted || !safe || tried >= retries) throw err;
      } finally {
        clearTimeout(timer);
      }
      await wait(pause, request.signal);
    }
  };
}

/** Whether a request that may have been done can be made again without being done twice. */
function repeatable(request: Request, body: ArrayBuffer | undefined): boolean {
  if (request.method !== "POST") return true;
  const path = new URL(request.url).pathname;
  const sent = () => JSON.parse(new TextDecoder().decode(body) || "{}");
  if (path.endsWith("/v1/tasks")) return Boolean(sent().key);
  if (path.endsWith("/v1/tasks/batch")) return (sent().tasks as { key?: string }[]).every((t) => t.key);
  return false;
}

function refused(response: Response, text: string): BellmanError {
  const seconds = Number(response.headers.get("Retry-After") ?? "");
  const retryAfterMs = seconds > 0 ? seconds * 1000 : 0;
  const elsewhere = response.headers.get("Location");
  const detail = elsewhere ? `it redirects to ${elsewhere}: want that address of the server` : text.slice(0, 600).trim();
  let problem: Problem = { title: response.statusText || "unexpected answer", status: response.status, detail };
  try {
    const said = JSON.parse(text) as Problem;
    if (said?.title) problem = { ...said, status: response.status };
  } catch {
    // not of bellman, but of a proxy perhaps: its words are the detail
  }
  return new BellmanError(problem, retryAfterMs);
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = () => (clearTimeout(timer), reject(signal.reason));
    const timer = setTimeout(() => (signal.removeEventListener("abort", stop), resolve()), ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}
