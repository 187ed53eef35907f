// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Endpoint, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param breaker closed, open, half_open.
 * @param endpoint see the API
 * @param inFlight see the API
 * @param lastHour null: no attempt within an hour, and none that failed within a day.
 * @param limit Present limit of attempts in flight; it adapts.
 * @param oldest Due time of the task that has waited longest; null: none waits.
 * @param paused null if it is not paused.
 * @param rate Rate that the endpoint seems to allow, in attempts a second, after it asked for fewer; 0: it did not.
 * @param successRate Share of accepted latest attempts, 0 to 1; null before the first.
 * @param waiting see the API
 */
public record Endpoint(
        BreakerState breaker,
        String endpoint,
        int inFlight,
        Hour lastHour,
        int limit,
        Instant oldest,
        Pause paused,
        double rate,
        Double successRate,
        int waiting) {
    static Endpoint of(Object json) {
        var r = Shape.Reader.of("Endpoint", json);
        return new Endpoint(
                r.shape("breaker", BreakerState::of),
                r.text("endpoint"),
                r.int32("in_flight", 0),
                r.shape("last_hour", Hour::of),
                r.int32("limit", 0),
                r.time("oldest"),
                r.shape("paused", Pause::of),
                r.number("rate", 0.0),
                r.number("success_rate"),
                r.int32("waiting", 0));
    }
}
