// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Request, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param body see the API
 * @param headers The sent headers. *** replaces the values of Authorization, Proxy-Authorization, Cookie, Set-Cookie and of headers whose names contain token, secret, password, api-key or apikey.
 * @param method see the API
 * @param url see the API
 * @param codeLife Order: as requested.
 * @param expires Order: as requested.
 * @param notification Order or poll: as requested.
 * @param orderCreated Order: as given, or when bellman received the order.
 * @param vars Order or poll: as requested.
 */
public record Request(
        String body,
        Map<String, String> headers,
        String method,
        String url,
        String codeLife,
        String expires,
        Notify notification,
        Instant orderCreated,
        Map<String, String> vars) {
    static Request of(Object json) {
        var r = Shape.Reader.of("Request", json);
        return new Request(
                r.text("body"),
                r.map("headers", String.class::cast),
                r.text("method"),
                r.text("url"),
                r.text("code_life"),
                r.text("expires"),
                r.shape("notify", Notify::of),
                r.time("order_created"),
                r.map("vars", String.class::cast));
    }
}
