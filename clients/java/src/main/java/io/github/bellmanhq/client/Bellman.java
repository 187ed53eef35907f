package io.github.bellmanhq.client;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiFunction;
import java.util.stream.Stream;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * Calls a bellman server. It is safe for use by many threads, and keeps connections: make one, and keep it.
 *
 * <p>A call is made again after 429, and, where that cannot do anything twice, after 502, 503, 504 and after a connection
 * that broke: what reads, PUT, DELETE, and creating tasks with keys. Other calls throw at once, and so does an answer with
 * a Retry-After of more than a minute. If the answer of a successful try was lost, its repetition may throw 404 for a
 * DELETE, and 409 for a PUT with a version.
 */
public final class Bellman extends Operations {
    private static final Duration LONGEST_RETRY_AFTER = Duration.ofMinutes(1); // that is waited for

    private final URI server;
    private final String key;
    private final HttpClient http;
    private final Duration timeout;
    private final int retries;

    private Bellman(Builder b) {
        server = URI.create(b.server.replaceAll("/+$", ""));
        if (server.getHost() == null) throw new IllegalArgumentException("server " + b.server + ": want an address such as http://127.0.0.1:2355");
        key = b.key;
        timeout = b.timeout;
        retries = b.retries;
        http = b.http != null ? b.http : HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(5)).build();
    }

    /** A client of the server at an address such as http://127.0.0.1:2355. */
    public static Builder at(String server) {
        return new Builder(server);
    }

    /** Says how to reach a server. */
    public static final class Builder {
        private final String server;
        private String key = "";
        private HttpClient http;
        private Duration timeout = Duration.ofSeconds(30);
        private int retries = 3;

        private Builder(String server) {
            this.server = Objects.requireNonNull(server);
        }

        /** Sent as Authorization: Bearer; without it nothing is. */
        public Builder key(String key) {
            this.key = Objects.requireNonNull(key);
            return this;
        }

        /** For one try, from the request to the last byte; default 30 seconds. A call that settles has a minute more. */
        public Builder timeout(Duration timeout) {
            this.timeout = Objects.requireNonNull(timeout);
            return this;
        }

        /** How often a call is made again after it failed; default 3. */
        public Builder retries(int retries) {
            this.retries = retries;
            return this;
        }

        /** Default: one with HTTP/1.1 and 5 seconds for connecting. */
        public Builder http(HttpClient http) {
            this.http = Objects.requireNonNull(http);
            return this;
        }

        public Bellman build() {
            return new Bellman(this);
        }
    }

    /** All tasks that fit, newest first; pages are read as the stream gets to them. */
    public Stream<Task> tasks(ListTasksQuery query) {
        return Stream.iterate(page(query, query.cursor()), Objects::nonNull,
                p -> p.nextCursor().isEmpty() ? null : page(query, p.nextCursor())).flatMap(p -> p.tasks().stream());
    }

    private TaskPage page(ListTasksQuery q, String cursor) {
        return listTasks(new ListTasksQuery(q.queue(), q.state(), q.merchantNo(), q.orderNo(), q.key(), q.event(), q.urlHost(),
                q.createdFrom(), q.createdTo(), q.kind(), q.result(), q.status(), q.finishedFrom(),
                q.limit() == null ? Integer.valueOf(200) : q.limit(), cursor));
    }

    /**
     * Changes of all tasks, or of one queue's if queue is not null, from now on, as they are committed. Close the stream.
     * It ends when the server shuts down, and throws an UncheckedIOException when the connection breaks. A reader that is
     * too slow misses events, and what happened before is not told: read the tasks for that.
     */
    public Stream<Event> events(String queue) {
        var request = request("GET", "/v1/events", queue == null ? null : Map.of("queue", queue)).GET().build();
        try {
            var response = http.send(request, BodyHandlers.ofLines());
            if (response.statusCode() != 200) {
                try (var lines = response.body()) {
                    throw refusal(response, String.join("\n", lines.toList()));
                }
            }
            return response.body().filter(line -> line.startsWith("data: ")).map(line -> Event.of(Json.parse(line.substring(6))));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    @Override
    <T> Answer<T> send(String method, String path, Map<String, Object> query, Shape body, BiFunction<Integer, Object, T> read) {
        var request = request(method, path, query).timeout(path.endsWith("/settle") || query != null && query.containsKey("settle") ? timeout.plusMinutes(1) : timeout);
        if (body == null) {
            request.method(method, BodyPublishers.noBody());
        } else {
            var text = new StringBuilder();
            Json.write(text, body);
            request.header("Content-Type", "application/json").method(method, BodyPublishers.ofString(text.toString()));
        }
        var response = exchange(request.build(), repeatable(method, path, body));
        Object json = response.body().isBlank() ? null : Json.parse(response.body());
        return new Answer<>(response.statusCode(), read.apply(response.statusCode(), json));
    }

    @Override
    String text(String path) {
        return exchange(request("GET", path, null).timeout(timeout).GET().build(), true).body();
    }

    /** Whether a request that may have been done can be made again without being done twice. */
    private static boolean repeatable(String method, String path, Shape body) {
        if (body instanceof CreateTask task) return keyed(task);
        if (body instanceof Batch batch) return batch.tasks().stream().allMatch(Bellman::keyed);
        return !method.equals("POST");
    }

    private static boolean keyed(CreateTask task) {
        return task.key() != null && !task.key().isEmpty();
    }

    private HttpResponse<String> exchange(HttpRequest request, boolean repeatable) {
        for (int tried = 0; ; tried++) {
            Duration pause = Duration.ofMillis((long) (Math.min(100L << Math.min(tried, 10), 5_000) * ThreadLocalRandom.current().nextDouble(0.5, 1)));
            try {
                var response = whole(request);
                if (!response.request().method().equals(request.method())) { // of an HttpClient that follows redirects
                    throw new UncheckedIOException(new IOException("the server redirects to " + response.uri() + ", and the redirect drops the request: want that address of the server"));
                }
                int status = response.statusCode();
                if (status < 300) return response;
                var refusal = refusal(response, response.body());
                boolean again = status == 429 || repeatable && (status == 502 || status == 503 || status == 504);
                if (tried >= retries || !again || refusal.retryAfter().compareTo(LONGEST_RETRY_AFTER) > 0) throw refusal;
                if (refusal.retryAfter().compareTo(pause) > 0) pause = refusal.retryAfter();
            } catch (IOException e) {
                if (tried >= retries || !repeatable) throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                throw interrupted();
            }
            try {
                Thread.sleep(pause.toMillis());
            } catch (InterruptedException e) {
                throw interrupted();
            }
        }
    }

    /** Waits for an answer to its last byte: a request's own timeout ends with the headers. */
    private HttpResponse<String> whole(HttpRequest request) throws IOException, InterruptedException {
        var answer = http.sendAsync(request, BodyHandlers.ofString(UTF_8));
        try {
            return answer.get(request.timeout().orElse(timeout).toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException io ? io : new IOException(e.getCause());
        } catch (TimeoutException e) {
            throw new HttpTimeoutException("no whole answer in " + request.timeout().orElse(timeout));
        } finally {
            answer.cancel(true); // closes the connection, unless it is done
        }
    }

    private HttpRequest.Builder request(String method, String path, Map<String, Object> query) {
        var address = new StringBuilder(server.toString()).append(path);
        if (query != null && !query.isEmpty()) {
            var q = new StringJoiner("&", "?", "");
            query.forEach((name, value) -> q.add(name + "=" + URLEncoder.encode(word(value), UTF_8)));
            address.append(q);
        }
        var request = HttpRequest.newBuilder(URI.create(address.toString()));
        if (!key.isEmpty()) request.header("Authorization", "Bearer " + key);
        return request;
    }

    private static String word(Object value) {
        if (value instanceof Value v) return v.value();
        if (value instanceof java.time.Instant t) return Json.time(t);
        return value.toString();
    }

    @Override
    String segment(String value) {
        if (value.equals(".") || value.equals("..")) return value.replace(".", "%2E");
        return URLEncoder.encode(value, UTF_8).replace("+", "%20");
    }

    private static BellmanException refusal(HttpResponse<?> response, String text) {
        int status = response.statusCode();
        Problem problem;
        try {
            var p = Problem.of(Json.parse(text));
            if (p.title() == null) throw new IllegalArgumentException("another JSON");
            problem = new Problem(status, p.title(), p.detail(), p.errors(), p.instance(), p.type());
        } catch (IllegalArgumentException notOurs) { // of a proxy perhaps: its words are the detail
            problem = new Problem(status, "unexpected answer", text.substring(0, Math.min(text.length(), 600)).strip(), List.of(), null, null);
        }
        var after = response.headers().firstValue("Retry-After").filter(s -> s.matches("\\d{1,9}")).map(s -> Duration.ofSeconds(Long.parseLong(s)));
        return new BellmanException(problem, after.orElse(Duration.ZERO));
    }

    private static UncheckedIOException interrupted() {
        Thread.currentThread().interrupt();
        return new UncheckedIOException(new InterruptedIOException("interrupted while waiting for the server"));
    }
}
