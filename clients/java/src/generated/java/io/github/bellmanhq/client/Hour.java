// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Hour, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param attempts see the API
 * @param failingSince First of the latest failures in a row; null: the last attempt was accepted.
 * @param lastFailure The last failed attempt, also before that hour; null: none is known.
 * @param successRate Share of them that were accepted, 0 to 1; null: there were none.
 */
public record Hour(
        long attempts,
        Instant failingSince,
        AttentionFailure lastFailure,
        Double successRate) {
    static Hour of(Object json) {
        var r = Shape.Reader.of("Hour", json);
        return new Hour(
                r.int64("attempts", 0L),
                r.time("failing_since"),
                r.shape("last_failure", AttentionFailure::of),
                r.number("success_rate"));
    }
}
