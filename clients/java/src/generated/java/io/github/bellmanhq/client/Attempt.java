// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Attempt, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param due see the API
 * @param error see the API
 * @param latenessMs Started minus due, never negative.
 * @param node see the API
 * @param number 1 for the first.
 * @param response The answer, cut at 600 characters.
 * @param result accepted, refused, error_status, unreachable, timeout, blocked, unknown.
 * @param started see the API
 * @param status HTTP status; 0 if no answer came.
 * @param tookMs Start to last byte, or to giving up.
 * @param trigger Why it was made.
 * @param action What it asked for, where a queue's tasks ask several things: query, close, …
 * @param reading How the answer was read, of an order. Of a query: PENDING, NOT_FOUND, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED; QUERY_ERROR: it says nothing of the order, or there is none. Of a close or reverse: closed, already_closed, paid_hint, in_flight, not_exist, unknown; refunded: reversed, and it was paid.
 * @param timing Parts of took_ms that went into making a connection; left out where one was there already.
 */
public record Attempt(
        Instant due,
        String error,
        long latenessMs,
        String node,
        int number,
        String response,
        AttemptResult result,
        Instant started,
        int status,
        long tookMs,
        AttemptTrigger trigger,
        String action,
        String reading,
        Timing timing) {
    static Attempt of(Object json) {
        var r = Shape.Reader.of("Attempt", json);
        return new Attempt(
                r.time("due"),
                r.text("error"),
                r.int64("lateness_ms", 0L),
                r.text("node"),
                r.int32("number", 0),
                r.text("response"),
                r.shape("result", AttemptResult::of),
                r.time("started"),
                r.int32("status", 0),
                r.int64("took_ms", 0L),
                r.shape("trigger", AttemptTrigger::of),
                r.text("action"),
                r.text("reading"),
                r.shape("timing", Timing::of));
    }
}
