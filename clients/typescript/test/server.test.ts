// The client against a real server: BELLMAN_SERVER, with the keys BELLMAN_ADMIN and BELLMAN_READ, and a merchant at BELLMAN_MERCHANT.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { Bellman, BellmanError, type CreateTask, type Event, type TaskDetail } from "../src/index.js";

const { BELLMAN_SERVER: server = "", BELLMAN_ADMIN: key = "", BELLMAN_READ: read = "", BELLMAN_MERCHANT: merchant = "" } = process.env;
const bellman = new Bellman({ server, key, timeoutMs: 240_000 }); // on a slow machine

const notice = (more: Partial<CreateTask> = {}): CreateTask => ({
  queue: "default", key: randomUUID(), merchant_no: "M1001", order_no: "20261120000001", url: merchant, json: { state: "SUCCESS" }, delay: "1h", ...more,
});

const refusal = (status: number) => (err: unknown) => err instanceof BellmanError && err.status === status;

test("create", async () => {
  const asked = notice({ key: `${randomUUID()}/支付 &?#` });
  const { task, created } = await bellman.createTask(asked);
  assert.equal(created, true);
  assert.equal(task.state, "pending");
  assert.equal(task.finished, null);
  const again = await bellman.createTask(asked);
  assert.deepEqual([again.created, again.task.id], [false, task.id]);
  await assert.rejects(bellman.createTask({ ...asked, json: {} }), (err: unknown) => {
    assert.ok(err instanceof BellmanError);
    assert.deepEqual([err.status, err.instance], [409, `/v1/tasks/${task.id}`]);
    return true;
  });
  assert.equal((await bellman.task({ queue: "default", key: asked.key! })).id, task.id);
  assert.equal((await bellman.task(task.id)).request.body, '{"state":"SUCCESS"}');
  const exact = await bellman.createTask(notice({ json: undefined, body: '{"amount":9007199254740993}' }));
  assert.equal((await bellman.task(exact.task.id)).request.body, '{"amount":9007199254740993}');
});

test("batch", async () => {
  const results = await bellman.createTasks([notice(), { queue: "nowhere" }, notice({ schedule: "soon" })]);
  assert.deepEqual(results.map((r) => r.status), [201, 422, 422]);
  assert.equal(results[1]?.error?.errors?.[0]?.location, "body.tasks[1].queue");
});

test("list", async () => {
  const order_no = randomUUID();
  const made: string[] = [];
  for (let i = 0; i < 3; i++) made.unshift((await bellman.createTask(notice({ order_no }))).task.id);
  const found: string[] = [];
  for await (const task of bellman.tasks({ order_no, merchant_no: "M1001", state: "pending" })) found.push(task.id);
  assert.deepEqual(found, made);
  const page = (await bellman.http.GET("/v1/tasks", { params: { query: { order_no, merchant_no: "M1001", limit: 2 } } })).data!;
  assert.equal(page.tasks.length, 2);
  const many = await bellman.createTasks(Array.from({ length: 205 }, () => notice({ order_no: `${order_no}/many` })));
  assert.ok(many.every((r) => r.status === 201));
  let n = 0;
  for await (const task of bellman.tasks({ merchant_no: "M1001", order_no: `${order_no}/many` })) n += task.id ? 1 : 0;
  assert.equal(n, 205); // two pages
});

test("by hand", async () => {
  const { task } = await bellman.createTask(notice());
  assert.ok((await bellman.reschedule(task.id, { delay: "2h" })).due! > task.due!);
  await bellman.resend(task.id, { reason: "asked" });
  let sent: TaskDetail;
  for (let i = 0; (sent = await bellman.task(task.id)).state === "pending"; i++) {
    assert.ok(i < 2400, "it is pending for four minutes");
    await new Promise((r) => setTimeout(r, 100));
  }
  assert.equal(sent.state, "succeeded");
  assert.deepEqual(sent.attempt_log.map((a) => [a.result, a.trigger, a.response]), [["accepted", "manual", "success"]]);
  const other = (await bellman.createTask(notice())).task;
  assert.equal((await bellman.cancel({ queue: "default", key: other.key }, "no")).state, "cancelled");
  const third = (await bellman.createTask(notice())).task;
  assert.equal((await bellman.complete(third.id)).reason, "callback");
});

test("order", async () => {
  const order_no = randomUUID();
  await bellman.createTask({ queue: "orders", merchant_no: "M1001", order_no, notify: { url: merchant } });
  const order = await bellman.order("M1001", order_no, "1m");
  assert.deepEqual([order.order_state, order.settled], ["PENDING", true]);
  const { data } = await bellman.http.POST("/v1/orders/settle", { body: { orders: [{ merchant_no: "M1001", order_no }, { merchant_no: "M1001", order_no: "none" }], wait: "1m" } });
  assert.deepEqual(data!.results.map((r) => r.status), [200, 404]);
  const params = { path: { merchant_no: "M1001", order_no } };
  await bellman.http.POST("/v1/orders/{merchant_no}/{order_no}/complete", { params, body: { outcome: "PAID" } });
  assert.equal((await bellman.order("M1001", order_no)).order_state, "PAID");
});

test("figures and events", async () => {
  const stop = new AbortController();
  const mine = new Set<string>();
  let told: Event | undefined;
  const heard = (async () => {
    for await (const event of bellman.events({ queue: "default", signal: stop.signal })) {
      if (event.type !== "task" || !mine.has(event.task.key)) continue; // of another test
      told = event;
      return;
    }
  })();
  try {
    // The stream says nothing of before: tasks are created until one is told.
    for (let i = 0; told === undefined && i < 2400; i++) {
      const key = randomUUID();
      mine.add(key);
      await bellman.createTask(notice({ key }));
      await new Promise((r) => setTimeout(r, 100));
    }
    assert.equal(told?.task.queue, "default");
    await heard; // leaving the loop ended the connection: nothing keeps this process
  } finally {
    stop.abort(); // for an assertion that failed
    await heard.catch(() => {});
  }
  const stats = (await bellman.http.GET("/v1/stats", { params: { query: { window: "1h" } } })).data!;
  assert.ok(stats.counts.added > 0);
});

test("keys", async () => {
  await assert.rejects(new Bellman({ server }).task("x"), refusal(401));
  await assert.rejects(new Bellman({ server, key: "wrong" }).http.GET("/v1/queues"), refusal(401));
  await assert.rejects(new Bellman({ server, key: read }).createTask(notice()), refusal(403));
  await assert.rejects(new Bellman({ server, key: "wrong" }).events().next(), refusal(401));
  await assert.rejects(bellman.task({ queue: "default", key: "none" }), refusal(404));
  await assert.rejects(bellman.createTask({ queue: "default", url: "nowhere", timeout: "soon" }), (err: unknown) => {
    assert.ok(err instanceof BellmanError);
    assert.deepEqual([err.status, err.errors.map((f) => f.location)], [422, ["body.timeout", "body.url"]]);
    return true;
  });
});
