// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * SettledOrder, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param asked The channel was queried, and the result is recorded.
 * @param merchantNo see the API
 * @param orderNo see the API
 * @param status 200: the channel was queried; this is the present state. 202: the answer is still to come; this is the state before. 404: the order is unknown. Otherwise see error.
 * @param error see the API
 * @param last The newest attempt.
 * @param latePayment PAID, PAID_REFUNDED.
 * @param orderState PENDING, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED, UNKNOWN.
 * @param task Task of the order.
 */
public record SettledOrder(
        boolean asked,
        String merchantNo,
        String orderNo,
        int status,
        Problem error,
        LastAttempt last,
        LatePayment latePayment,
        OrderState orderState,
        String task) {
    static SettledOrder of(Object json) {
        var r = Shape.Reader.of("SettledOrder", json);
        return new SettledOrder(
                r.bool("asked", false),
                r.text("merchant_no"),
                r.text("order_no"),
                r.int32("status", 0),
                r.shape("error", Problem::of),
                r.shape("last", LastAttempt::of),
                r.shape("late_payment", LatePayment::of),
                r.shape("order_state", OrderState::of),
                r.text("task"));
    }
}
