// The client against servers that misbehave.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { Bellman, BellmanError } from "../src/index.js";

/** A client whose server gives these answers, one after the other and the last of them for ever, and how often it was asked. */
function facing(...answers: (Response | Error)[]) {
  const asked: Request[] = [];
  const fetch = async (request: Request) => {
    asked.push(request);
    const answer = answers[Math.min(asked.length, answers.length) - 1]!;
    if (answer instanceof Error) throw answer;
    return answer.clone();
  };
  return { bellman: new Bellman({ fetch, key: "k" }), asked };
}

const busy = (status: number, headers = {}) => new Response(JSON.stringify({ title: "Busy", status }), { status, headers });
const queues = Response.json({ queues: [] });

test("what can be repeated is", async () => {
  for (const first of [busy(429), busy(503), new TypeError("fetch failed")]) {
    const { bellman, asked } = facing(first, queues);
    assert.deepEqual((await bellman.http.GET("/v1/queues")).data?.queues, []);
    assert.equal(asked.length, 2);
    assert.equal(asked[1]?.headers.get("Authorization"), "Bearer k");
  }
  const { bellman, asked } = facing(busy(503), new TypeError("fetch failed"), Response.json({ id: "1" }, { status: 201 }));
  assert.equal((await bellman.createTask({ queue: "q", key: "k", json: { a: 1 } })).created, true);
  assert.equal(asked.length, 3);
  assert.equal(await asked[2]!.text(), '{"queue":"q","key":"k","json":{"a":1}}');
});

test("a file is sent byte for byte, and again", async () => {
  const { bellman, asked } = facing(busy(429), Response.json({ id: "1" }));
  const file = new Uint8Array([0x50, 0x4b, 0xd6, 0xd0, 0x00]); // no UTF-8: a zip archive, or GBK
  await bellman.http.POST("/v1/reconciliations/file", {
    params: { query: { queue: "q", date: "2026-11-21" } },
    body: file as unknown as string,
    bodySerializer: () => file,
  });
  assert.equal(asked.length, 2);
  assert.deepEqual(new Uint8Array(await asked[1]!.arrayBuffer()), file);
});

test("what could be done twice is not", async () => {
  for (const answer of [busy(503), new TypeError("fetch failed")]) {
    const { bellman, asked } = facing(answer);
    await assert.rejects(bellman.createTask({ queue: "q" }));
    await assert.rejects(bellman.createTasks([{ queue: "q", key: "k" }, { queue: "q" }]));
    await assert.rejects(bellman.resend("x"));
    assert.equal(asked.length, 3);
  }
});

test("it gives up", async () => {
  const { bellman, asked } = facing(busy(429));
  await assert.rejects(bellman.resend("x"), (err: unknown) => err instanceof BellmanError && err.status === 429);
  assert.equal(asked.length, 4);
});

test("Retry-After is waited for", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { bellman, asked } = facing(busy(429, { "Retry-After": "7" }), queues);
  const answer = bellman.http.GET("/v1/queues");
  while (asked.length < 1) await new Promise(setImmediate);
  for (let i = 0; i < 10; i++) await new Promise(setImmediate);
  t.mock.timers.tick(6_999);
  for (let i = 0; i < 10; i++) await new Promise(setImmediate);
  assert.equal(asked.length, 1);
  t.mock.timers.tick(1);
  assert.equal((await answer).response.status, 200);
});

test("a Retry-After of more than a minute is not waited for", async () => {
  const { bellman, asked } = facing(busy(503, { "Retry-After": "61" }), Response.json({ id: "x" }));
  await assert.rejects(bellman.task("x"), (err: unknown) => err instanceof BellmanError && err.status === 503 && err.retryAfterMs === 61_000);
  assert.equal(asked.length, 1);
});

test("a proxy's words are the detail", async () => {
  const { bellman } = facing(new Response("<html>teapot</html>", { status: 418 }));
  await assert.rejects(bellman.task("x"), /^BellmanError: 418 .*<html>teapot/);
});

test("a redirect creates nothing, and is an error", async () => {
  const server = createServer((request, response) => {
    const elsewhere = request.url!.startsWith("/elsewhere");
    response.writeHead(elsewhere ? 200 : 301, { Location: `/elsewhere${request.url}` }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const bellman = new Bellman({ server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    await assert.rejects(bellman.createTask({ queue: "q", key: "k" }), /^BellmanError: 301 .*redirects to \/elsewhere/);
    await bellman.http.GET("/v1/queues");
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("a newer server's values are passed on", async () => {
  const { bellman } = facing(Response.json({ state: "dreaming", more: { a: 1 } }));
  const task = await bellman.task("x");
  assert.equal(task.state, "dreaming");
});

test("no answer is waited for without end", async () => {
  const fetch = (request: Request) => new Promise<Response>((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason)));
  await assert.rejects(new Bellman({ fetch, timeoutMs: 20, retries: 1 }).task("x"), { name: "TimeoutError" });
});
