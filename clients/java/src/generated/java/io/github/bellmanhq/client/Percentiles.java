// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Percentiles, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param count see the API
 * @param maxMs see the API
 * @param p50Ms see the API
 * @param p90Ms see the API
 * @param p99Ms see the API
 */
public record Percentiles(
        long count,
        double maxMs,
        double p50Ms,
        double p90Ms,
        double p99Ms) {
    static Percentiles of(Object json) {
        var r = Shape.Reader.of("Percentiles", json);
        return new Percentiles(
                r.int64("count", 0L),
                r.number("max_ms", 0.0),
                r.number("p50_ms", 0.0),
                r.number("p90_ms", 0.0),
                r.number("p99_ms", 0.0));
    }
}
