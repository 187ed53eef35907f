// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Request, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param body see the API
 * @param headers The sent headers. *** replaces all values, except those of headers that are known to carry no credentials, such as Content-Type.
 * @param method see the API
 * @param url see the API
 * @param account Order or poll: the account at the channel; absent: the queue's own.
 * @param amount Order: what it costs, in the smallest unit of currency.
 * @param channelOrderNo Order: the number by which the channel knows it.
 * @param codeLife Order: as requested.
 * @param currency Order: the ISO 4217 code of amount.
 * @param expires Order: as requested, or until expires_at.
 * @param notification Order or poll: as requested.
 * @param orderCreated Order: as given, or when bellman received the order.
 * @param vars Order or poll: as requested.
 */
public record Request(
        String body,
        Map<String, String> headers,
        String method,
        String url,
        String account,
        Long amount,
        String channelOrderNo,
        String codeLife,
        String currency,
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
                r.text("account"),
                r.int64("amount"),
                r.text("channel_order_no"),
                r.text("code_life"),
                r.text("currency"),
                r.text("expires"),
                r.shape("notify", Notify::of),
                r.time("order_created"),
                r.map("vars", String.class::cast));
    }
}
