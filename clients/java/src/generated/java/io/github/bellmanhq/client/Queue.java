// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Queue, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param concurrency Most attempts in flight; 0: no limit of its own.
 * @param delay Delay of tasks without delay and due; empty: none.
 * @param depth see the API
 * @param held Waiting tasks that a pause or a breaker holds. They are not overdue.
 * @param inFlight see the API
 * @param kind see the API
 * @param lastMinute see the API
 * @param maxAge Empty: only the schedule decides.
 * @param name see the API
 * @param oldestOverdue Due time of the overdue task that has waited longest and is not held; null: none is overdue.
 * @param paused null if it is not paused.
 * @param perEndpoint see the API
 * @param rate Most attempts a second; 0: no limit of its own.
 * @param schedule see the API
 * @param success see the API
 * @param timeout see the API
 * @param waiting Due tasks in memory.
 */
public record Queue(
        int concurrency,
        String delay,
        Depth depth,
        int held,
        int inFlight,
        String kind,
        Counts lastMinute,
        String maxAge,
        String name,
        Instant oldestOverdue,
        Pause paused,
        PerEndpoint perEndpoint,
        double rate,
        String schedule,
        String success,
        String timeout,
        int waiting) {
    static Queue of(Object json) {
        var r = Shape.Reader.of("Queue", json);
        return new Queue(
                r.int32("concurrency", 0),
                r.text("delay"),
                r.shape("depth", Depth::of),
                r.int32("held", 0),
                r.int32("in_flight", 0),
                r.text("kind"),
                r.shape("last_minute", Counts::of),
                r.text("max_age"),
                r.text("name"),
                r.time("oldest_overdue"),
                r.shape("paused", Pause::of),
                r.shape("per_endpoint", PerEndpoint::of),
                r.number("rate", 0.0),
                r.text("schedule"),
                r.text("success"),
                r.text("timeout"),
                r.int32("waiting", 0));
    }
}
