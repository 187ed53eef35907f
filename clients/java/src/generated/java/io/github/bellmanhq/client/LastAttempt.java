// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * LastAttempt, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param error see the API
 * @param number see the API
 * @param result accepted, refused, error_status, unreachable, timeout, blocked, unknown.
 * @param started see the API
 * @param status HTTP status; 0: no answer.
 * @param trigger Trigger of the attempt.
 * @param action Action of an attempt of an order: query, close or reverse; of a poll: announce, request or query.
 * @param reading Order or poll: how the answer was read; see reading of an attempt.
 */
public record LastAttempt(
        String error,
        int number,
        AttemptResult result,
        Instant started,
        int status,
        AttemptTrigger trigger,
        String action,
        String reading) {
    static LastAttempt of(Object json) {
        var r = Shape.Reader.of("LastAttempt", json);
        return new LastAttempt(
                r.text("error"),
                r.int32("number", 0),
                r.shape("result", AttemptResult::of),
                r.time("started"),
                r.int32("status", 0),
                r.shape("trigger", AttemptTrigger::of),
                r.text("action"),
                r.text("reading"));
    }
}
