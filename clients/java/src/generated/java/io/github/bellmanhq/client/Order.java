// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Order, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param attempts Attempts of these tasks by start time: the newest 200 of each task, the newest 1,000 in all.
 * @param merchantNo see the API
 * @param more There are more tasks or attempts than shown. Each task's own page shows all of its attempts.
 * @param orderNo see the API
 * @param orderState PENDING, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED or UNKNOWN; empty if none of the tasks is an order. With several orders: a paid state if one is paid, otherwise PENDING if one is pending, otherwise the state of the newest.
 * @param tasks All tasks with these numbers, in any queue, by creation time: the newest 200.
 * @param latePayment A payment after the order was decided otherwise, as the channel reports it. The decided state stays.
 * @param settled Only with settle. true: every attempt that was overdue was made and recorded. false: the wait ended first, so the state may be outdated.
 */
public record Order(
        List<OrderAttempt> attempts,
        String merchantNo,
        boolean more,
        String orderNo,
        String orderState,
        List<Task> tasks,
        LatePayment latePayment,
        Boolean settled) {
    static Order of(Object json) {
        var r = Shape.Reader.of("Order", json);
        return new Order(
                r.list("attempts", OrderAttempt::of),
                r.text("merchant_no"),
                r.bool("more", false),
                r.text("order_no"),
                r.text("order_state"),
                r.list("tasks", Task::of),
                r.shape("late_payment", LatePayment::of),
                r.bool("settled"));
    }
}
