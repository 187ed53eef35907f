// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Changed, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param after Empty: it has no value.
 * @param before Empty: it had no value.
 * @param field see the API
 */
public record Changed(
        String after,
        String before,
        String field) {
    static Changed of(Object json) {
        var r = Shape.Reader.of("Changed", json);
        return new Changed(
                r.text("after"),
                r.text("before"),
                r.text("field"));
    }
}
