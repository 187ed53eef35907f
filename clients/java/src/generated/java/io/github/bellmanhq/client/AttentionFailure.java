// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * AttentionFailure, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param error see the API
 * @param response The first 200 bytes of the answer, with secrets masked.
 * @param result accepted, refused, error_status, unreachable, timeout, blocked, unknown.
 * @param started see the API
 * @param status HTTP status; 0: no answer.
 * @param task see the API
 */
public record AttentionFailure(
        String error,
        String response,
        AttemptResult result,
        Instant started,
        int status,
        String task) {
    static AttentionFailure of(Object json) {
        var r = Shape.Reader.of("AttentionFailure", json);
        return new AttentionFailure(
                r.text("error"),
                r.text("response"),
                r.shape("result", AttemptResult::of),
                r.time("started"),
                r.int32("status", 0),
                r.text("task"));
    }
}
