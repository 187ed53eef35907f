// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * AlarmCase, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param merchantNo Empty: bellman has no such order.
 * @param orderNo see the API
 * @param state The state of the order, refund or transfer.
 * @param task see the API
 * @param why see the API
 * @param refNo Number of the refund or transfer; absent: it is an order.
 */
public record AlarmCase(
        String merchantNo,
        String orderNo,
        String state,
        String task,
        String why,
        String refNo) {
    static AlarmCase of(Object json) {
        var r = Shape.Reader.of("AlarmCase", json);
        return new AlarmCase(
                r.text("merchant_no"),
                r.text("order_no"),
                r.text("state"),
                r.text("task"),
                r.text("why"),
                r.text("ref_no"));
    }
}
