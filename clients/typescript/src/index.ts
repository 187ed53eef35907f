/**
 * The client of a bellman server. Every operation of the server is at {@link Bellman.http}, typed by the OpenAPI
 * document; {@link Bellman} has those that a service calls every day. Numbers that a payment hangs on (ids, order
 * numbers) are text; the API's own integers are counts, milliseconds and amounts in a currency's smallest unit, which
 * JavaScript reads exactly below 2^53. Times are RFC 3339 text.
 */
import createClient, { type Client } from "openapi-fetch";
import { send, type Options } from "./send.js";
import type { components, operations, paths } from "./schema.js";

export { BellmanError, type Options } from "./send.js";
export type { paths } from "./schema.js";

/** The shapes of the JSON, by their names in the OpenAPI document. */
export type Schemas = components["schemas"];
export type Attempt = Schemas["Attempt"];
export type BatchResult = Schemas["BatchResult"];
export type CreateTask = Schemas["CreateTask"];
export type Filter = Omit<NonNullable<operations["list-tasks"]["parameters"]["query"]>, "limit" | "cursor">;
export type Order = Schemas["Order"];
export type Problem = Schemas["Problem"];
export type Task = Schemas["Task"];
export type TaskDetail = Schemas["TaskDetail"];

/** A change of a task, told after it was committed. */
export type Event = Schemas["Event"] & { type: "task" | "attempt" | (string & {}) };

/** Names a task: by its id, or by its queue and the key that its creator gave it. */
export type Ref = string | { queue: string; key: string };

/** Calls a bellman server. All methods throw a {@link BellmanError} where it refuses. */
export class Bellman {
  /**
   * Every operation, by method and path: `http.GET("/v1/queues")`. Keys, retries, timeouts and errors are those of the
   * other methods, so that `data` is always there when a call returns.
   */
  readonly http: Client<paths>;
  readonly #events: (request: Request) => Promise<Response>;
  readonly #server: string;

  constructor(options: Options = {}) {
    this.#server = (options.server ?? "http://127.0.0.1:2355").replace(/\/+$/, "");
    this.#events = send(options, true);
    this.http = createClient<paths>({ baseUrl: this.#server, fetch: send(options, false) });
  }

  /**
   * Creates a task, which is durable when the promise resolves. `created` is false when its key was there already with
   * the same content: then `task` is that one. Other content under the same key is a BellmanError of status 409. Give
   * a key: then a call whose answer was lost is made again, and no second task comes of it.
   */
  async createTask(task: CreateTask): Promise<{ task: Task; created: boolean }> {
    const { data, response } = await this.http.POST("/v1/tasks", { body: task });
    return { task: data!, created: response.status === 201 };
  }

  /** Creates up to 1,000 tasks. There is one result per task, in order; a bad task does not stop the others. */
  async createTasks(tasks: CreateTask[]): Promise<BatchResult[]> {
    return (await this.http.POST("/v1/tasks/batch", { body: { tasks } })).data!.results;
  }

  /** Reads a task with its request and its newest 200 attempts. */
  async task(ref: Ref): Promise<TaskDetail> {
    return typeof ref === "string"
      ? (await this.http.GET("/v1/tasks/{id}", { params: { path: { id: ref } } })).data!
      : (await this.http.GET("/v1/queues/{queue}/keys/{key}", { params: { path: ref } })).data!;
  }

  /** Goes through all tasks that fit, newest first, page by page. */
  async *tasks(filter: Filter = {}): AsyncGenerator<Task, void, undefined> {
    for (let cursor: string | undefined; cursor !== ""; ) {
      const query = { ...filter, limit: 200, ...(cursor === undefined ? {} : { cursor }) };
      const page = (await this.http.GET("/v1/tasks", { params: { query } })).data!;
      yield* page.tasks;
      cursor = page.next_cursor;
    }
  }

  /** Asks for one attempt now, from any state; with mode restart the schedule begins anew. */
  async resend(ref: Ref, body: Schemas["ResendTask"] = {}): Promise<Task> {
    return typeof ref === "string"
      ? (await this.http.POST("/v1/tasks/{id}/resend", { params: { path: { id: ref } }, body })).data!
      : (await this.http.POST("/v1/queues/{queue}/keys/{key}/resend", { params: { path: ref }, body })).data!;
  }

  /** Ends a task. An attempt in flight may still arrive. */
  async cancel(ref: Ref, reason = ""): Promise<Task> {
    const body = { reason };
    return typeof ref === "string"
      ? (await this.http.POST("/v1/tasks/{id}/cancel", { params: { path: { id: ref } }, body })).data!
      : (await this.http.POST("/v1/queues/{queue}/keys/{key}/cancel", { params: { path: ref }, body })).data!;
  }

  /** Ends a task as succeeded: the answer came another way. */
  async complete(ref: Ref, body: Schemas["CompleteTask"] = {}): Promise<Task> {
    return typeof ref === "string"
      ? (await this.http.POST("/v1/tasks/{id}/complete", { params: { path: { id: ref } }, body })).data!
      : (await this.http.POST("/v1/queues/{queue}/keys/{key}/complete", { params: { path: ref }, body })).data!;
  }

  /** Moves a task's next attempt: to a time, or to some time from now. */
  async reschedule(ref: Ref, body: Schemas["RescheduleTask"]): Promise<Task> {
    return typeof ref === "string"
      ? (await this.http.POST("/v1/tasks/{id}/reschedule", { params: { path: { id: ref } }, body })).data!
      : (await this.http.POST("/v1/queues/{queue}/keys/{key}/reschedule", { params: { path: ref }, body })).data!;
  }

  /**
   * Reads everything about one order. With settle ("3s", up to "60s") what is overdue is attempted now and waited for,
   * so that what is read is no state that should have ended; `settled` says whether the wait was long enough.
   */
  async order(merchantNo: string, orderNo: string, settle?: string): Promise<Order> {
    const path = { merchant_no: merchantNo, order_no: orderNo };
    const query = settle === undefined ? {} : { settle };
    return (await this.http.GET("/v1/orders/{merchant_no}/{order_no}", { params: { path, query } })).data!;
  }

  /**
   * Follows the changes of all tasks, or of one queue's, from now on, as they are committed. It ends when the server
   * shuts down, and throws when the connection breaks or the signal aborts. A reader that is too slow misses events, and
   * what happened before is not told: read the tasks for that.
   */
  async *events({ queue, signal }: { queue?: string; signal?: AbortSignal } = {}): AsyncGenerator<Event, void, undefined> {
    const url = `${this.#server}/v1/events${queue === undefined ? "" : `?queue=${encodeURIComponent(queue)}`}`;
    // Leaving the loop ends the connection at once: a stream that is cancelled may wait for its next event first.
    const left = new AbortController();
    const response = await this.#events(new Request(url, { signal: signal ? AbortSignal.any([signal, left.signal]) : left.signal }));
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    let type = "";
    try {
      for (let read; !(read = await reader.read()).done; ) {
        const lines = (rest + read.value).split("\n");
        rest = lines.pop()!;
        for (const line of lines) {
          if (line.startsWith("event: ")) type = line.slice("event: ".length);
          if (line.startsWith("data: ")) yield { type, ...(JSON.parse(line.slice("data: ".length)) as Schemas["Event"]) };
        }
      }
    } finally {
      left.abort();
      void reader.cancel().catch(() => {}); // what came meanwhile
    }
  }
}
