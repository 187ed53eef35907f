// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Paused, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param names The queue, or the endpoints of the host. After a resume: only those that were paused.
 */
public record Paused(
        List<String> names) {
    static Paused of(Object json) {
        var r = Shape.Reader.of("Paused", json);
        return new Paused(
                r.list("names", String.class::cast));
    }
}
