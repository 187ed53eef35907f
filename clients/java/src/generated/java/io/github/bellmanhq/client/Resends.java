// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Resends, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param resends see the API
 */
public record Resends(
        List<Resend> resends) {
    static Resends of(Object json) {
        var r = Shape.Reader.of("Resends", json);
        return new Resends(
                r.list("resends", Resend::of));
    }
}
