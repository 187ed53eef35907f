// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Decision, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param merchantNo see the API
 * @param orderNo see the API
 * @param reason The reason, a colon and the outcome.
 * @param task The order's task.
 * @param who Name of the API key; empty if authentication is off.
 * @param from Network address of the caller; absent: unknown.
 */
public record Decision(
        String merchantNo,
        String orderNo,
        String reason,
        String task,
        String who,
        String from) {
    static Decision of(Object json) {
        var r = Shape.Reader.of("Decision", json);
        return new Decision(
                r.text("merchant_no"),
                r.text("order_no"),
                r.text("reason"),
                r.text("task"),
                r.text("who"),
                r.text("from"));
    }
}
