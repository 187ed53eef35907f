// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Sent, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param accepts The answers that the rule accepts, in words; absent: the rule is an expression.
 * @param body see the API
 * @param headers Those of the signature have the value ***, because signatures are not kept.
 * @param method Absent: a message to a broker.
 * @param missing Why the request cannot be built again; then the other fields are absent.
 * @param signScheme The scheme of the signature; absent: the request is not signed.
 * @param signed The text that is signed. *** stands for the secret, and NONCE for a random part. Its time is the second in which the attempt started; the attempt may have signed in the next.
 * @param success The rule that judges the answer.
 * @param url see the API
 */
public record Sent(
        String accepts,
        String body,
        Map<String, String> headers,
        String method,
        String missing,
        String signScheme,
        String signed,
        String success,
        String url) {
    static Sent of(Object json) {
        var r = Shape.Reader.of("Sent", json);
        return new Sent(
                r.text("accepts"),
                r.text("body"),
                r.map("headers", String.class::cast),
                r.text("method"),
                r.text("missing"),
                r.text("sign_scheme"),
                r.text("signed"),
                r.text("success"),
                r.text("url"));
    }
}
