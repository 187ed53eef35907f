// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Depth, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param cancelled see the API
 * @param failed see the API
 * @param pending see the API
 * @param succeeded see the API
 */
public record Depth(
        long cancelled,
        long failed,
        long pending,
        long succeeded) {
    static Depth of(Object json) {
        var r = Shape.Reader.of("Depth", json);
        return new Depth(
                r.int64("cancelled", 0L),
                r.int64("failed", 0L),
                r.int64("pending", 0L),
                r.int64("succeeded", 0L));
    }
}
