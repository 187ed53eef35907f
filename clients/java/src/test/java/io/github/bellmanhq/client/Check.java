package io.github.bellmanhq.client;

import com.sun.net.httpserver.HttpServer;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.http.HttpClient;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

import static java.nio.charset.StandardCharsets.UTF_8;

/** The client against a real server, at the address in args[0] with the keys in args[1] (admin) and args[2] (read); and against one that misbehaves. */
final class Check {
    private static String server, admin, read, merchant;

    public static void main(String[] args) throws Exception {
        server = args[0];
        admin = args[1];
        read = args[2];
        merchant = args[3];
        var tests = new LinkedHashMap<String, Test>();
        tests.put("json", Check::json);
        tests.put("create", Check::create);
        tests.put("batch", Check::batch);
        tests.put("list", Check::list);
        tests.put("by hand", Check::byHand);
        tests.put("order", Check::order);
        tests.put("operation", Check::operation);
        tests.put("events", Check::events);
        tests.put("refusals", Check::refusals);
        tests.put("retries", Check::retries);
        tests.put("newer server", Check::newer);
        tests.put("timeout", Check::timeout);
        for (var test : tests.entrySet()) {
            test.getValue().run();
            System.out.println("ok " + test.getKey());
        }
    }

    private static Bellman bellman() {
        return Bellman.at(server).key(admin).timeout(Duration.ofMinutes(4)).build(); // on a slow machine
    }

    private static CreateTask.Builder notice(String key) {
        return CreateTask.builder("default").key(key).merchantNo("M1001").orderNo("20261120000001").url(merchant)
                .json(Map.of("order_no", "20261120000001", "amount", 9_007_199_254_740_993L)).delay("1h");
    }

    static void json() {
        for (String text : List.of("null", "true", "-12", "9007199254740993", "9223372036854775807", "0.10", "1E+400", "\"a\\\"\\\\\\u0001\"", "[]", "[1,[2]]", "{}", "{\"a\":{\"b\":null}}")) {
            var out = new StringBuilder();
            Json.write(out, Json.parse(text));
            same(out.toString(), text);
        }
        var unordered = new StringBuilder(); // Map.of has another order in each run
        Json.write(unordered, Map.of("f", 1, "b", 2, "d", 3, "a", 4, "c", Map.of("z", 1, "y", 2, "x", 3), "e", 5));
        same(unordered.toString(), "{\"a\":4,\"b\":2,\"c\":{\"x\":3,\"y\":2,\"z\":1},\"d\":3,\"e\":5,\"f\":1}");
        same(Json.parse(" { \"a\" : [ 1 , \"\\u00e9\\n\\/\" ] } "), Map.of("a", List.of(1L, "é\n/")));
        same(Json.parse("12345678901234567890123"), new BigDecimal("12345678901234567890123"));
        for (String text : List.of("", "{", "[1,]", "{\"a\":1,}", "01", "1.", "-", "tru", "\"a", "\"\\x\"", "\"\\u12\"", "1 2", "{a:1}", "\"\n\"", "[".repeat(100_000), "+1", "NaN")) {
            refused(() -> Json.parse(text), IllegalArgumentException.class);
        }
        refused(() -> new Json("{"), IllegalArgumentException.class);
        refused(() -> Json.parse("1e9999999999"), IllegalArgumentException.class);
        for (Object value : List.of(Double.NaN, new Object(), ResendMode.UNRECOGNIZED)) {
            refused(() -> {
                Json.write(new StringBuilder(), value);
                return null;
            }, IllegalArgumentException.class);
        }
    }

    static void create() {
        var b = bellman();
        String key = UUID.randomUUID() + "/支付 &?#";
        var made = b.createTask(notice(key).build());
        same(made.created(), true);
        same(made.body().state(), TaskState.PENDING);
        same(made.body().due().isAfter(Instant.now()), true);
        same(made.body().finished(), null);
        var again = b.createTask(notice(key).build());
        same(again.created(), false);
        same(again.body().id(), made.body().id());
        var taken = refused(() -> b.createTask(notice(key).json(Map.of()).build()), BellmanException.class);
        same(taken.status(), 409);
        same(taken.problem().instance(), "/v1/tasks/" + made.body().id());

        var read = b.getTaskByKey("default", key);
        same(read.request().body().contains("9007199254740993"), true);
        same(read.attemptLog(), List.of());
        same(b.getTask(made.body().id()).key(), key);
        var own = b.createTask(notice(UUID.randomUUID().toString()).json(new Json("{\"amount\":0.10}")).build()).body();
        same(b.getTask(own.id()).request().body(), "{\"amount\":0.10}");
    }

    static void batch() {
        var results = bellman().createTasks(new Batch(List.of(notice(UUID.randomUUID().toString()).build(), CreateTask.builder("nowhere").build(),
                notice(UUID.randomUUID().toString()).schedule("soon").build()), null)).results();
        same(results.stream().map(BatchResult::status).toList(), List.of(201, 422, 422));
        same(results.get(0).task().queue(), "default");
        same(results.get(1).error().errors().get(0).location(), "body.tasks[1].queue");
        same(results.get(1).task(), null);
    }

    static void list() {
        var b = bellman();
        String order = UUID.randomUUID().toString();
        var made = new ArrayList<String>();
        for (int i = 0; i < 5; i++) made.add(0, b.createTask(notice(order + i).orderNo(order).build()).body().id());
        var query = ListTasksQuery.builder().merchantNo("M1001").orderNo(order).state(TaskState.PENDING).createdFrom(Instant.now().minusSeconds(3600)).limit(2).build();
        same(b.listTasks(query).tasks().size(), 2);
        same(b.tasks(query).map(Task::id).toList(), made);
        same(b.tasks(ListTasksQuery.builder().orderNo(UUID.randomUUID().toString()).build()).count(), 0L);
    }

    static void byHand() throws Exception {
        var b = bellman();
        var task = b.createTask(notice(UUID.randomUUID().toString()).build()).body();
        same(b.rescheduleTask(task.id(), RescheduleTask.builder().delay("2h").build()).due().isAfter(task.due()), true);
        b.resendTask(task.id(), ResendTask.builder().mode(ResendMode.ONCE).reason("asked").build());
        TaskDetail sent = await(() -> b.getTask(task.id()), t -> t.state() != TaskState.PENDING);
        same(sent.state(), TaskState.SUCCEEDED);
        var attempt = sent.attemptLog().get(0);
        same(attempt.result(), AttemptResult.ACCEPTED);
        same(attempt.trigger(), AttemptTrigger.MANUAL);
        same(attempt.response(), "success");
        same(sent.last().status(), 200);
        same(b.getTask(task.id(), GetTaskQuery.builder().attemptsAfter(1).build()).attemptLog(), List.of());

        var other = b.createTask(notice(UUID.randomUUID().toString()).build()).body();
        same(b.cancelTaskByKey("default", other.key(), new Because("no")).state(), TaskState.CANCELLED);
        var third = b.createTask(notice(UUID.randomUUID().toString()).build()).body();
        same(b.completeTask(third.id()).reason(), "callback");

        var filter = Filter.builder().merchantNo("M1001").state(TaskState.CANCELLED).build();
        var counted = b.startResend(BulkResend.builder(filter).dryRun(true).build());
        same(counted instanceof ResendCount c && c.tasks() > 0, true);
        var begun = b.startResend(BulkResend.builder(Filter.builder().orderNo("none").build()).reason("test").build());
        if (!(begun instanceof Resend job)) throw new AssertionError(begun);
        same(b.getResend(job.id()).filter().orderNo(), "none");
    }

    static void order() {
        var b = bellman();
        String no = UUID.randomUUID().toString();
        b.createTask(CreateTask.builder("orders").merchantNo("M1001").orderNo(no).notification(new Notify(null, merchant)).build());
        var order = b.getOrder("M1001", no, "1m");
        same(order.orderState(), "PENDING");
        same(order.settled(), true);
        var settled = b.settleOrders(SettleOrders.builder(List.of(new OrderRef("M1001", no), new OrderRef("M1001", "none"))).waiting("1m").build()).results();
        same(settled.stream().map(SettledOrder::status).toList(), List.of(200, 404));
        same(settled.get(0).orderState(), OrderState.PENDING);
        same(b.completeOrder("M1001", no, CompleteTask.builder().outcome("PAID").build()).orderState(), OrderState.PAID);
        same(b.getOrder("M1001", no).orderState(), "PAID");
    }

    static void operation() {
        var b = bellman();
        same(b.listQueues().queues().stream().map(Queue::name).toList(), List.of("default", "orders"));
        b.pauseQueue("default", new Because("look"));
        same(b.listQueues().queues().get(0).paused().reason(), "look");
        b.resumeQueue("default");
        same(b.listQueues().queues().get(0).paused(), null);
        same(b.stats("1h").counts().added() > 0, true);
        same(b.healthz().status(), HealthStatus.OK);
        same(b.listAudits(ListAuditsQuery.builder().limit(1).action("resume").build()).audits().size(), 1);
        same(b.metrics().contains("bellman_"), true);
        same(b.openapi().contains("\"openapi\""), true);
        same(b.putMerchant("M2", PutMerchant.builder().name("Tea").notifyUrl(merchant).build()).created(), true);
        same(b.putMerchant("M2", PutMerchant.builder().name("Tee").notifyUrl(merchant).build()).created(), false);
        same(b.getMerchant("M2").name(), "Tee");
        b.deleteMerchant("M2");
        same(refused(() -> b.getMerchant("M2"), BellmanException.class).status(), 404);
    }

    static void events() {
        var b = bellman();
        String key = UUID.randomUUID().toString();
        try (var events = b.events("default")) {
            b.createTask(notice(key).build()); // after the stream began: its first line is there
            var event = events.filter(e -> e.task().key().equals(key)).findFirst().orElseThrow();
            same(event.added(), true);
            same(event.attempt(), null);
        }
    }

    static void refusals() {
        same(refused(() -> Bellman.at(server).build().listQueues(), BellmanException.class).status(), 401);
        same(refused(() -> Bellman.at(server).key("wrong").build().listQueues(), BellmanException.class).status(), 401);
        same(refused(() -> Bellman.at(server).key(read).build().createTask(notice("k").build()), BellmanException.class).status(), 403);
        same(refused(() -> Bellman.at(server).key("wrong").build().events(null), BellmanException.class).status(), 401);
        same(refused(() -> bellman().getTaskByKey("default", "none"), BellmanException.class).status(), 404);
        var wrong = refused(() -> bellman().createTask(CreateTask.builder("default").url("nowhere").timeout("soon").build()), BellmanException.class);
        same(wrong.status(), 422);
        same(wrong.problem().errors().stream().map(Fault::location).toList(), List.of("body.timeout", "body.url"));
        same(wrong.getMessage().contains("body.timeout"), true);
    }

    static void retries() throws Exception {
        var answers = new ArrayList<>(List.of(429, 503, 200));
        int[] calls = {0};
        try (var s = new Fake(request -> {
            calls[0]++;
            int status = answers.isEmpty() ? 503 : answers.remove(0);
            return status == 200 ? new Reply(200, "{\"queues\":[]}") : new Reply(status, "{\"title\":\"Busy\",\"status\":" + status + "}");
        })) {
            var b = Bellman.at(s.address()).build();
            same(b.listQueues().queues(), List.of());
            same(calls[0], 3);

            calls[0] = 0;
            same(refused(() -> b.createTask(notice("k").build()), BellmanException.class).status(), 503);
            same(calls[0], 4); // with a key: once, and three times again
            calls[0] = 0;
            same(refused(() -> b.createTask(CreateTask.builder("default").build()), BellmanException.class).status(), 503);
            same(refused(() -> b.resendTask("x"), BellmanException.class).problem().title(), "Busy");
            same(calls[0], 2); // each once: it may have been done

            answers.add(429);
            answers.add(200);
            refused(() -> Bellman.at(s.address()).retries(0).build().listQueues(), BellmanException.class);
            same(b.listQueues().queues(), List.of());
        }
        int[] tries = {0};
        try (var s = new Fake(request -> {
            tries[0]++;
            return new Reply(503, "{\"title\":\"Busy\",\"status\":503}", "61");
        })) {
            var e = refused(() -> Bellman.at(s.address()).build().listQueues(), BellmanException.class);
            same(e.retryAfter(), Duration.ofSeconds(61));
            same(tries[0], 1); // more than a minute is not waited for
        }
        try (var s = new Fake(request -> new Reply(502, "<html>bad gateway</html>"))) {
            var e = refused(() -> Bellman.at(s.address()).retries(0).build().stats(), BellmanException.class);
            same(e.problem().detail(), "<html>bad gateway</html>");
        }
        try (var s = new Fake(request -> new Reply(403, "{\"message\":\"no\"}"))) {
            var e = refused(() -> Bellman.at(s.address()).build().stats(), BellmanException.class);
            same(e.problem().detail(), "{\"message\":\"no\"}");
        }
        try (var s = new Fake(request -> new Reply(request.endsWith("/elsewhere") ? 200 : 301, "{}"))) {
            same(refused(() -> Bellman.at(s.address()).build().createTask(notice("k").build()), BellmanException.class).status(), 301);
            var follows = Bellman.at(s.address()).http(HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build()).build();
            refused(() -> follows.createTask(notice("k").build()), UncheckedIOException.class); // as a GET, which would create nothing
        }
        refused(() -> Bellman.at("http://127.0.0.1:1").retries(1).build().stats(), UncheckedIOException.class);
    }

    static void newer() throws Exception {
        try (var s = new Fake(request -> new Reply(200, "{\"status\":\"splendid\",\"since\":{\"a\":[1.5]}}"))) {
            same(Bellman.at(s.address()).build().readyz().status(), HealthStatus.UNRECOGNIZED);
            same(Bellman.at(s.address()).build().listQueues().queues(), List.of()); // of an older one
        }
    }

    static void timeout() throws Exception {
        var forever = new Object();
        try (var s = new Fake(request -> {
            synchronized (forever) {
                forever.wait(); // until the server is closed
            }
            return null;
        })) {
            var e = refused(() -> Bellman.at(s.address()).timeout(Duration.ofMillis(50)).retries(1).build().stats(), UncheckedIOException.class);
            same(e.getCause() instanceof HttpTimeoutException, true);
        }
        Thread thread;
        try (var half = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) { // an answer that stops in its middle
            thread = new Thread(() -> {
                var open = new ArrayList<Socket>();
                try {
                    while (true) {
                        var to = half.accept();
                        open.add(to);
                        to.getOutputStream().write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{".getBytes(UTF_8));
                    }
                } catch (IOException closed) {
                    open.clear();
                }
            });
            thread.start();
            var b = Bellman.at("http://127.0.0.1:" + half.getLocalPort()).timeout(Duration.ofMillis(200)).retries(0).build();
            same(refused(b::stats, UncheckedIOException.class).getCause() instanceof HttpTimeoutException, true);
        }
        thread.join();
    }

    interface Test {
        void run() throws Exception;
    }

    /** An answer; retryAfter is null if it has no such header. */
    record Reply(int status, String body, String retryAfter) {
        Reply(int status, String body) {
            this(status, body, null);
        }
    }

    interface Answering {
        Reply answer(String request) throws Exception;
    }

    /** A server that answers as it is told. */
    static final class Fake implements AutoCloseable {
        private final HttpServer http;
        private final java.util.concurrent.ExecutorService threads = Executors.newCachedThreadPool();

        Fake(Answering with) throws Exception {
            http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            http.setExecutor(threads);
            http.createContext("/", exchange -> {
                try (exchange) {
                    var reply = with.answer(exchange.getRequestMethod() + " " + exchange.getRequestURI());
                    byte[] body = reply.body().getBytes(UTF_8);
                    if (reply.status() == 301) exchange.getResponseHeaders().set("Location", "/elsewhere");
                    if (reply.retryAfter() != null) exchange.getResponseHeaders().set("Retry-After", reply.retryAfter());
                    exchange.sendResponseHeaders(reply.status(), body.length);
                    exchange.getResponseBody().write(body);
                } catch (Exception stopped) {
                    Thread.currentThread().interrupt();
                }
            });
            http.start();
        }

        String address() {
            return "http://127.0.0.1:" + http.getAddress().getPort();
        }

        @Override
        public void close() {
            threads.shutdownNow();
            http.stop(0);
        }
    }

    private static <T> T await(Supplier<T> read, java.util.function.Predicate<T> until) throws InterruptedException {
        for (int i = 0; ; i++) {
            T value = read.get();
            if (until.test(value)) return value;
            if (i == 2400) throw new AssertionError("for four minutes: " + value);
            Thread.sleep(100);
        }
    }

    private static void same(Object got, Object want) {
        if (!Objects.equals(got, want)) throw new AssertionError("got " + got + "; want " + want);
    }

    private static <E extends Throwable> E refused(Supplier<?> call, Class<E> want) {
        Object got;
        try {
            got = call.get();
        } catch (Throwable e) {
            if (want.isInstance(e)) return want.cast(e);
            throw new AssertionError("want " + want.getSimpleName(), e);
        }
        throw new AssertionError("got " + got + "; want " + want.getSimpleName());
    }
}
