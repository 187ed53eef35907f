// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Fault, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param location see the API
 * @param message see the API
 */
public record Fault(
        String location,
        String message) {
    static Fault of(Object json) {
        var r = Shape.Reader.of("Fault", json);
        return new Fault(
                r.text("location"),
                r.text("message"));
    }
}
