// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * BilledOrder, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param amount 0: not known.
 * @param currency see the API
 * @param merchantNo see the API
 * @param orderNo see the API
 * @param paidAt see the API
 * @param refundNo Empty: it is an order.
 * @param state see the API
 * @param task Id of the order's task; empty for a refund.
 * @param transactionId see the API
 */
public record BilledOrder(
        long amount,
        String currency,
        String merchantNo,
        String orderNo,
        Instant paidAt,
        String refundNo,
        String state,
        String task,
        String transactionId) {
    static BilledOrder of(Object json) {
        var r = Shape.Reader.of("BilledOrder", json);
        return new BilledOrder(
                r.int64("amount", 0L),
                r.text("currency"),
                r.text("merchant_no"),
                r.text("order_no"),
                r.time("paid_at"),
                r.text("refund_no"),
                r.text("state"),
                r.text("task"),
                r.text("transaction_id"));
    }
}
