// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Audit, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param action see the API
 * @param at see the API
 * @param from Network address of the caller: the one in X-Forwarded-For if a trusted proxy passed it on. Empty: unknown.
 * @param reason see the API
 * @param target A task's id, or queue/NAME, endpoint/HOST, merchant/NUMBER, resend/ID, link/ID.
 * @param who Name of the API key; empty if authentication is off.
 * @param changes Fields that the action changed, such as a merchant's. Secrets show their last characters; values in a URL's query show a fingerprint.
 * @param job The bulk resend or batch of merchants to which the action belongs, as resend/ID or batch/ID; absent: none.
 */
public record Audit(
        String action,
        Instant at,
        String from,
        String reason,
        String target,
        String who,
        List<Changed> changes,
        String job) {
    static Audit of(Object json) {
        var r = Shape.Reader.of("Audit", json);
        return new Audit(
                r.text("action"),
                r.time("at"),
                r.text("from"),
                r.text("reason"),
                r.text("target"),
                r.text("who"),
                r.list("changes", Changed::of),
                r.text("job"));
    }
}
