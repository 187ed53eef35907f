// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Pause, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param at see the API
 * @param reason see the API
 * @param who see the API
 */
public record Pause(
        Instant at,
        String reason,
        String who) {
    static Pause of(Object json) {
        var r = Shape.Reader.of("Pause", json);
        return new Pause(
                r.time("at"),
                r.text("reason"),
                r.text("who"));
    }
}
