// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * OrderAttempt, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param due see the API
 * @param error see the API
 * @param latenessMs Started minus due, never negative.
 * @param node see the API
 * @param number 1 for the first.
 * @param queue see the API
 * @param response The answer, cut at 600 characters.
 * @param result accepted, refused, error_status, unreachable, timeout, blocked, unknown.
 * @param started see the API
 * @param status HTTP status; 0: no answer.
 * @param task see the API
 * @param tookMs From the start to the last byte, or to the timeout.
 * @param trigger Trigger of the attempt.
 * @param action The action of the attempt, if tasks of the queue have several: query, close, …
 * @param reading How the answer was read. Order, query: PENDING, NOT_FOUND, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED, or QUERY_ERROR if the answer says nothing about the order or is missing. Close or reverse: closed, already_closed, paid_hint, in_flight, not_exist, unknown; refunded: reversed after it was paid. Poll: PENDING, NOT_FOUND, DONE, FAILED_THERE or QUERY_ERROR; of a request: accepted, refused or unknown.
 * @param responseHeaders The header of an answer that was not accepted, 1,024 characters in all. Fields that may hold credentials, such as Set-Cookie, are never kept. *** stands for a value that is masked.
 * @param sent Only if the attempt was asked for by its number.
 * @param timing Parts of took_ms; absent if none was measured, as for requests to a channel.
 */
public record OrderAttempt(
        Instant due,
        String error,
        long latenessMs,
        String node,
        int number,
        String queue,
        String response,
        AttemptResult result,
        Instant started,
        int status,
        String task,
        long tookMs,
        AttemptTrigger trigger,
        String action,
        String reading,
        Map<String, String> responseHeaders,
        Sent sent,
        Timing timing) {
    static OrderAttempt of(Object json) {
        var r = Shape.Reader.of("OrderAttempt", json);
        return new OrderAttempt(
                r.time("due"),
                r.text("error"),
                r.int64("lateness_ms", 0L),
                r.text("node"),
                r.int32("number", 0),
                r.text("queue"),
                r.text("response"),
                r.shape("result", AttemptResult::of),
                r.time("started"),
                r.int32("status", 0),
                r.text("task"),
                r.int64("took_ms", 0L),
                r.shape("trigger", AttemptTrigger::of),
                r.text("action"),
                r.text("reading"),
                r.map("response_headers", String.class::cast),
                r.shape("sent", Sent::of),
                r.shape("timing", Timing::of));
    }
}
