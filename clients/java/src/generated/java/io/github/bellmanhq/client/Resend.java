// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Resend, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param created see the API
 * @param examined Tasks that matched so far: the sum of the next three.
 * @param failed Tasks that could not be resent.
 * @param filter see the API
 * @param finished null while it is running.
 * @param id see the API
 * @param mode once, restart.
 * @param more There are more than total, because the count is bounded.
 * @param rate see the API
 * @param reason see the API
 * @param resent see the API
 * @param skipped Tasks that were gone, superseded, or did not match the filter any more when their turn came.
 * @param state running, done, cancelled.
 * @param total Tasks that matched at the start; 0: not counted yet.
 * @param updated see the API
 * @param who see the API
 * @param lastError see the API
 */
public record Resend(
        Instant created,
        long examined,
        long failed,
        Filter filter,
        Instant finished,
        String id,
        ResendMode mode,
        boolean more,
        String rate,
        String reason,
        long resent,
        long skipped,
        ResendState state,
        long total,
        Instant updated,
        String who,
        String lastError) implements Operations.StartResendAnswer {
    static Resend of(Object json) {
        var r = Shape.Reader.of("Resend", json);
        return new Resend(
                r.time("created"),
                r.int64("examined", 0L),
                r.int64("failed", 0L),
                r.shape("filter", Filter::of),
                r.time("finished"),
                r.text("id"),
                r.shape("mode", ResendMode::of),
                r.bool("more", false),
                r.text("rate"),
                r.text("reason"),
                r.int64("resent", 0L),
                r.int64("skipped", 0L),
                r.shape("state", ResendState::of),
                r.int64("total", 0L),
                r.time("updated"),
                r.text("who"),
                r.text("last_error"));
    }
}
