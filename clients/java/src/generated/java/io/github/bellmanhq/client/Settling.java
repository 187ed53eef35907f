// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Settling, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param asked Orders that the channel was asked about.
 * @param created see the API
 * @param failed Orders without a usable answer.
 * @param finished see the API
 * @param reason see the API
 * @param settled Differences that are none any more.
 * @param state running, done.
 * @param who see the API
 */
public record Settling(
        int asked,
        Instant created,
        int failed,
        Instant finished,
        String reason,
        int settled,
        SettlingState state,
        String who) {
    static Settling of(Object json) {
        var r = Shape.Reader.of("Settling", json);
        return new Settling(
                r.int32("asked", 0),
                r.time("created"),
                r.int32("failed", 0),
                r.time("finished"),
                r.text("reason"),
                r.int32("settled", 0),
                r.shape("state", SettlingState::of),
                r.text("who"));
    }
}
