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
 * @param from The network address of who asked: that of trusted_proxies' X-Forwarded-For, if one of these passed it on. Empty: not known, or of before it was kept.
 * @param reason see the API
 * @param target A task's id, or queue/NAME, endpoint/HOST, merchant/NUMBER, resend/ID, link/ID.
 * @param who The key's name; empty where nobody has to say.
 * @param changes The fields that the action changed, such as a merchant's. Secrets are shown by their last characters, values in a URL's query by a fingerprint.
 * @param job The bulk resend or the batch of merchants that this was a part of, as resend/ID or batch/ID; absent: none.
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
