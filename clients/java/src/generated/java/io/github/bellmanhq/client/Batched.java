// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Batched, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param results see the API
 */
public record Batched(
        List<BatchResult> results) {
    static Batched of(Object json) {
        var r = Shape.Reader.of("Batched", json);
        return new Batched(
                r.list("results", BatchResult::of));
    }
}
