package io.github.bellmanhq.client;

import java.time.Duration;

/** The server refused. What failed on the way to it is an {@link java.io.UncheckedIOException} instead. */
public final class BellmanException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final transient Problem problem;
    private final int status;
    private final Duration retryAfter;

    BellmanException(Problem problem, Duration retryAfter) {
        super(text(problem));
        this.problem = problem;
        this.status = problem.status();
        this.retryAfter = retryAfter;
    }

    /** The HTTP status: 401, 403, 404, 409 (the key has other content), 422 (see the problem's errors), 429, 503, … */
    public int status() {
        return status;
    }

    /** What the server said: RFC 9457, with every wrong field. */
    public Problem problem() {
        return problem;
    }

    /** When to ask again; zero: the server did not say. */
    public Duration retryAfter() {
        return retryAfter;
    }

    private static String text(Problem p) {
        var out = new StringBuilder().append(p.status()).append(' ').append(p.title());
        if (p.detail() != null) out.append(": ").append(p.detail());
        if (p.errors() != null) p.errors().forEach(f -> out.append("; ").append(f.location()).append(": ").append(f.message()));
        return out.toString();
    }
}
