// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Counts, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param added see the API
 * @param attempts By result; results that did not occur are absent.
 * @param failed see the API
 * @param succeeded see the API
 */
public record Counts(
        long added,
        Map<String, Long> attempts,
        long failed,
        long succeeded) {
    static Counts of(Object json) {
        var r = Shape.Reader.of("Counts", json);
        return new Counts(
                r.int64("added", 0L),
                r.map("attempts", Long.class::cast),
                r.int64("failed", 0L),
                r.int64("succeeded", 0L));
    }
}
